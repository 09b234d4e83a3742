import { textFlag } from '../../serve/text-flag.ts';
import { formatTable } from '../../text/format-table.ts';
import type { ClientCommand } from '../client-command.ts';
import { CommandError } from '../command-error.ts';
import { print } from '../output/print.ts';
import type { ServedResource } from '../resource-names.ts';

/** `homeostat api-resources`: prints the kinds that the server serves. */
export async function listResources(command: ClientCommand): Promise<number> {
  const { flags } = command;
  const output = textFlag(flags, 'output') ?? '';
  if (!['', 'wide', 'name'].includes(output)) throw new CommandError('-o: must be wide or name', 2);
  const group = textFlag(flags, 'api-group');
  const isNamespaced = namespacedFlag(flags);
  const resources = (await command.names()).all
    .filter((each) => group === undefined || each.group === group)
    .filter((each) => isNamespaced === undefined || each.isNamespaced === isNamespaced)
    .filter((each) => each.isPreferred)
    .sort((a, b) => a.group.localeCompare(b.group) || a.plural.localeCompare(b.plural));
  if (output === 'name') {
    await print(resources.map(({ plural, group: of }) => `${of === '' ? plural : `${plural}.${of}`}\n`).join(''));
    return 0;
  }
  const isWide = output === 'wide';
  const head = ['NAME', 'SHORTNAMES', 'APIVERSION', 'NAMESPACED', 'KIND', ...(isWide ? ['VERBS', 'CATEGORIES'] : [])];
  await print(formatTable([head, ...resources.map((resource) => rowOf(resource, isWide))]));
  return 0;
}

function rowOf(resource: ServedResource, isWide: boolean): readonly string[] {
  const { plural, shortNames, group, version, isNamespaced, kind, verbs, categories } = resource;
  const apiVersion = group === '' ? version : `${group}/${version}`;
  const more = isWide ? [verbs.join(','), categories.join(',')] : [];
  return [plural, shortNames.join(','), apiVersion, String(isNamespaced), kind, ...more];
}

function namespacedFlag(flags: ClientCommand['flags']): boolean | undefined {
  const value = flags['namespaced'];
  if (value === undefined) return undefined;
  if (value === true || value === 'true') return true;
  if (value === 'false') return false;
  throw new CommandError('--namespaced: must be true or false', 2);
}
