import { createInterface } from 'node:readline/promises';
import type { JsonObject } from '@homeostat/controller-runtime/api';
import type { ClientCommand } from '../client-command.ts';
import { CommandError } from '../command-error.ts';
import { filesOf } from '../object-arguments.ts';
import type { ObjectTarget } from '../object-arguments.ts';
import { coloured, objectDiff } from '../output/object-diff.ts';
import { ServerRefusal } from '../object-server.ts';
import { print } from '../output/print.ts';
import { readObjectFiles } from '../read-object-files.ts';
import type { FileObject } from '../read-object-files.ts';
import { objectPath, qualifiedName, ResourceNames } from '../resource-names.ts';
import type { ServedResource } from '../resource-names.ts';
import { objectsAt, serverObject, textAt } from '../server-object.ts';
import type { GivenObject, ServerObject } from '../server-object.ts';
import { eachItem } from './each-item.ts';
import { waitForCondition } from './wait-command.ts';
import { dryRunQuery, writePrinter, writeQuery } from './write-commands.ts';

/** An object to apply, its kind, and its path at the server. */
interface Application {
  readonly resource: ServedResource;
  readonly path: string;
  readonly object: GivenObject;
}

/**
 * `homeostat apply -f`: applies objects by server-side apply, so that the fields of other managers stay unchanged. If
 * the server refuses an object, the others are still applied, and the exit code is 1. With `--diff`, the command first
 * prints the differences and asks for confirmation; if the server would refuse an object, the command applies none.
 */
export async function applyObjects(command: ClientCommand): Promise<number> {
  const files = filesOf(command);
  if (files.length === 0) throw new CommandError('-f is needed: the files with the objects to apply', 2);
  const tell = writePrinter(command);
  const objects = await readObjectFiles(files);
  if (command.flags['diff'] === true) {
    const isChanged = await showDiffs(command, objects);
    if (isChanged === undefined) return 1;
    if (!isChanged) return 0;
    if (command.flags['yes'] !== true && !(await confirm('Apply these changes?', command.server.signal))) return 1;
  }
  const isDryRun = dryRunQuery(command.flags)['dryRun'] !== undefined;
  const definitions: ObjectTarget[] = [];
  return eachObject(objects, async (each) => {
    const application = await applicationOf(command, each, definitions);
    const before = await liveObject(command, application);
    const object = await apply(command, application, before);
    const isSame = before?.metadata.resourceVersion === object.metadata.resourceVersion;
    const changed = isSame ? 'unchanged' : 'configured';
    const done = before === undefined ? 'created' : changed;
    const { resource, path } = application;
    const isDefinition = resource.group === 'apiextensions.k8s.io' && resource.kind === 'CustomResourceDefinition';
    if (isDefinition && !isDryRun) definitions.push({ resource, path, name: object.metadata.name });
    await tell({ resource, object, done });
  });
}

/**
 * Calls `work` for each object with {@link eachItem}. A printed error names the object's file. Resolves with the exit
 * code: 1 if an error was printed, else 0. Rejects if there is only one object and `work` fails for it, or if the error
 * would be the same for all objects.
 */
function eachObject(objects: readonly FileObject[], work: (object: FileObject) => Promise<void>): Promise<number> {
  return eachItem(objects, work, ({ origin }) => origin);
}

/**
 * Applies the objects as a dry run, and prints the changes that a real apply would make. Resolves with true if there
 * are changes. If the server refuses one of several objects, resolves with undefined; if it refuses the only object,
 * rejects.
 */
async function showDiffs(command: ClientCommand, objects: readonly FileObject[]): Promise<boolean | undefined> {
  let isChanged = false;
  const dryRun = { ...command, flags: { ...command.flags, 'dry-run': 'server' } };
  const code = await eachObject(objects, async (each) => {
    const application = await applicationOf(command, each);
    const before = await liveObject(command, application);
    const after = await apply(dryRun, application, before);
    const diff = objectDiff(`${qualifiedName(application.resource)}/${after.metadata.name}`, before, after);
    isChanged ||= diff !== '';
    await print(coloured(diff, process.stdout.isTTY));
  });
  return code === 0 ? isChanged : undefined;
}

async function applicationOf(
  command: ClientCommand,
  { object, origin }: FileObject,
  definitions: ObjectTarget[] = [],
): Promise<Application> {
  const name = textAt(object.metadata, 'name');
  const namespace = textAt(object.metadata, 'namespace') || command.namespace;
  if (name === '') throw new CommandError(`${origin}: metadata.name must be set: apply needs the name of an object`);
  const resource = await resourceOf(command, object, definitions);
  return { resource, object, path: objectPath(resource, namespace, name) };
}

/**
 * Returns the kind of an object. If the server does not serve the kind yet, waits for the definitions that this command
 * has applied, because one of them may declare the kind.
 */
async function resourceOf(
  command: ClientCommand,
  { apiVersion, kind }: GivenObject,
  definitions: ObjectTarget[],
): Promise<ServedResource> {
  const known = await command.names();
  if (known.serves(apiVersion, kind)) return known.ofObject(apiVersion, kind);
  for (const definition of definitions.splice(0)) await waitForCondition(command, definition, 'Established');
  return (await ResourceNames.read(command.server)).ofObject(apiVersion, kind);
}

async function liveObject({ server }: ClientCommand, { path }: Application): Promise<ServerObject | undefined> {
  try {
    return serverObject(await server.send('GET', path));
  } catch (error) {
    if (error instanceof ServerRefusal && error.code === 404) return undefined;
    throw error;
  }
}

async function apply(
  command: ClientCommand,
  { path, object }: Application,
  before: ServerObject | undefined,
): Promise<ServerObject> {
  const query = writeQuery(command);
  const send = async (body: GivenObject, force: boolean): Promise<ServerObject> => {
    const contentType = 'application/apply-patch+yaml';
    const forced = { ...query, force: force ? 'true' : undefined };
    return serverObject(await command.server.send('PATCH', path, { query: forced, body, contentType }));
  };
  try {
    return await send(object, command.flags['force-conflicts'] === true);
  } catch (error) {
    if (before === undefined || !isOwnConflict(error, query['fieldManager'])) throw error;
    // With the resourceVersion, the server refuses this write if the object has changed since `before` was read.
    const { resourceVersion } = before.metadata;
    return send({ ...object, metadata: { ...object.metadata, resourceVersion } }, true);
  }
}

/**
 * True if all conflicts are with the command's own field manager. Such conflicts occur after `create`, `edit` or
 * `patch` has set the fields as this manager.
 */
function isOwnConflict(error: unknown, manager: string | undefined): boolean {
  if (!(error instanceof ServerRefusal) || error.code !== 409) return false;
  const causes = objectsAt(error.status, 'details', 'causes');
  const isOwn = (cause: JsonObject): boolean =>
    cause['reason'] === 'FieldManagerConflict' &&
    /^conflict with "(.*?)"/.exec(textAt(cause, 'message'))?.[1] === manager;
  return causes.length > 0 && causes.every(isOwn);
}

/** Asks the user on the terminal; no is the default. @throws CommandError when there is no terminal to ask on */
async function confirm(question: string, signal: AbortSignal): Promise<boolean> {
  if (!process.stdin.isTTY) throw new CommandError(`"${question}" can only be asked at a terminal: add --yes`, 2);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `, { signal })).trim());
  } finally {
    terminal.close();
  }
}
