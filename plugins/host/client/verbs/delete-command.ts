import { textFlag } from '../../serve/text-flag.ts';
import type { ClientCommand } from '../client-command.ts';
import { CommandError } from '../command-error.ts';
import { readTargets, selectorsOf, targetOfItem } from '../object-arguments.ts';
import type { ObjectTarget, Targets } from '../object-arguments.ts';
import { ServerRefusal } from '../object-server.ts';
import { note, print } from '../output/print.ts';
import { qualifiedName } from '../resource-names.ts';
import { isServerObject, objectsAt } from '../server-object.ts';
import { eachItem } from './each-item.ts';
import { waitFor } from './wait-command.ts';
import { readTimeoutMs } from './wait-timeout.ts';
import { dryRunQuery } from './write-commands.ts';

const policies: ReadonlyMap<string, string> = new Map([
  ['background', 'Background'],
  ['foreground', 'Foreground'],
  ['orphan', 'Orphan'],
]);

/** `homeostat delete`: deletes objects, and waits until they are gone. A refusal does not stop the other deletions. */
export async function deleteObjects(command: ClientCommand): Promise<number> {
  const targets = await readTargets(command);
  checkSelection(command, targets);
  const objects = [...targets.objects];
  for (const { resource, path } of targets.collections) {
    for await (const { items } of command.server.pages(path, { query: selectorsOf(command) }))
      for (const item of objectsAt(items)) objects.push(targetOfItem(command, resource, item));
  }
  if (objects.length === 0) note('No resources found');
  // A 404 for a selected object is no failure: another user may have deleted the object since this command listed it.
  const mayBeGone = command.flags['ignore-not-found'] === true || targets.collections.length > 0;
  const leaving: Leaving[] = [];
  const code = await eachItem(objects, async (target) => {
    const left = await deleteObject(command, target, mayBeGone);
    if (left !== undefined) leaving.push(left);
  });
  if (command.flags['wait'] === false || dryRunQuery(command.flags)['dryRun'] !== undefined) return code;
  const timeoutMs = readTimeoutMs(command.flags);
  for (const { target, uid } of leaving) await waitFor(command, { target, timeoutMs, isGone: uid });
  return code;
}

/** Refuses a command without names, a selection or `--all`: otherwise, a mistake could delete all objects of a kind. */
function checkSelection({ flags }: ClientCommand, { collections }: Targets): void {
  const isSelected = flags['selector'] !== undefined || flags['field-selector'] !== undefined;
  if (collections.length > 0 && !isSelected && flags['all'] !== true)
    throw new CommandError(
      'name the objects, select them by -l or --field-selector, or delete all of them by --all',
      2,
    );
}

interface Leaving {
  readonly target: ObjectTarget;
  readonly uid: string;
}

/**
 * Deletes an object. Resolves with the values that {@link waitFor} needs if finalizers may delay the removal of the
 * object; otherwise with undefined.
 */
async function deleteObject(
  { flags, server }: ClientCommand,
  target: ObjectTarget,
  mayBeGone: boolean,
): Promise<Leaving | undefined> {
  const query = dryRunQuery(flags);
  const dryRun = query['dryRun'] === undefined ? '' : ' (server dry run)';
  const body = { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: policyOf(flags) };
  try {
    const response = await server.send('DELETE', target.path, { query, body });
    await print(`${qualifiedName(target.resource)} "${target.name}" deleted${dryRun}\n`);
    const uid = isServerObject(response) && response.kind !== 'Status' ? response.metadata.uid : undefined;
    return uid === undefined ? undefined : { target, uid };
  } catch (error) {
    if (mayBeGone && error instanceof ServerRefusal && error.code === 404) return undefined;
    throw error;
  }
}

function policyOf(flags: ClientCommand['flags']): string {
  const name = textFlag(flags, 'cascade') ?? 'background';
  const policy = policies.get(name);
  if (policy !== undefined) return policy;
  throw new CommandError(`--cascade: must be background, foreground or orphan, not "${name}"`, 2);
}
