import type { JsonObject } from '@homeostat/controller-runtime/api';
import { textFlag } from '../../serve/text-flag.ts';
import type { ClientCommand } from '../client-command.ts';
import { CommandError } from '../command-error.ts';
import { readTargets, selectorsOf } from '../object-arguments.ts';
import type { CollectionTarget, Targets } from '../object-arguments.ts';
import { createObjectPrinter } from '../output/object-printer.ts';
import type { ObjectPrinter } from '../output/object-printer.ts';
import { ServerRefusal } from '../object-server.ts';
import type { Query } from '../object-server.ts';
import { note, print } from '../output/print.ts';
import { qualifiedName } from '../resource-names.ts';
import type { ServedResource } from '../resource-names.ts';
import { isServerObject, objectsAt, serverObject, textAt, withoutManagedFields } from '../server-object.ts';
import type { ServerObject } from '../server-object.ts';
import { TablePrinter, tableType } from '../output/table-printer.ts';

/** `homeostat get`: prints objects as a table, or as `-o` says; with `-w`, their changes as well. */
export async function getObjects(command: ClientCommand): Promise<number> {
  const output = textFlag(command.flags, 'output') ?? '';
  const targets = await readTargets(command);
  if (command.flags['watch'] === true) return watchTargets(command, targets, output);
  const isList = targets.collections.length > 0 || targets.objects.length > 1;
  const printer = createObjectPrinter(output, isList);
  return printer === undefined ? printTables(command, targets, output) : printObjects(command, targets, printer);
}

/** `homeostat watch`: the same as `homeostat get -w`. */
export function watchObjects(command: ClientCommand): Promise<number> {
  return getObjects({ ...command, flags: { ...command.flags, watch: true } });
}

async function printTables(command: ClientCommand, targets: Targets, output: string): Promise<number> {
  const hasPrefix = targets.collections.length + new Set(targets.objects.map(({ resource }) => resource)).size > 1;
  let printed = 0;
  for (const target of targets.collections) {
    const printer = tablePrinter(command, { resource: target.resource, output, hasPrefix });
    const separate = printed > 0 ? '\n' : '';
    for await (const table of command.server.pages(target.path, tableRequest(command))) {
      if (separate !== '' && !printer.hasRows && hasRows(table)) await print(separate);
      await printer.print(table);
    }
    if (printer.hasRows) printed += 1;
  }
  const tables = new Map<ServedResource, JsonObject>();
  let missing = 0;
  for (const { resource, path } of targets.objects) {
    const table = await found(command, async () => command.server.send('GET', path, { headers: tableHeaders }));
    if (table === undefined) missing += 1;
    else
      tables.set(resource, {
        ...table,
        rows: [...objectsAt(tables.get(resource), 'rows'), ...objectsAt(table, 'rows')],
      });
  }
  for (const [resource, table] of tables) {
    if (printed > 0) await print('\n');
    await tablePrinter(command, { resource, output, hasPrefix }).print(table);
    printed += 1;
  }
  if (targets.collections.length > 0 && printed === 0) sayNone(command, targets.collections);
  return missing === 0 || command.flags['ignore-not-found'] === true ? 0 : 1;
}

async function printObjects(command: ClientCommand, targets: Targets, printer: ObjectPrinter): Promise<number> {
  let missing = 0;
  for (const { resource, path } of targets.collections) {
    for await (const page of command.server.pages(path, { query: listQuery(command) })) {
      for (const object of itemsOf(page)) await printer.object(shown(command, object), resource);
    }
  }
  for (const { resource, path } of targets.objects) {
    const object = await found(command, async () => command.server.send('GET', path));
    if (object === undefined) missing += 1;
    else await printer.object(shown(command, serverObject(object)), resource);
  }
  if (missing < targets.objects.length || targets.collections.length > 0) await printer.end();
  return missing === 0 || command.flags['ignore-not-found'] === true ? 0 : 1;
}

async function watchTargets(command: ClientCommand, targets: Targets, output: string): Promise<number> {
  const [target, ...more] = [...targets.collections, ...targets.objects];
  if (target === undefined || more.length > 0)
    throw new CommandError('-w: exactly one kind, or one object, can be watched', 2);
  const name = targets.objects[0]?.name;
  const path = name === undefined ? target.path : target.path.slice(0, target.path.lastIndexOf('/'));
  const { labelSelector, fieldSelector } = selectorsOf(command);
  const selectors = { labelSelector, fieldSelector: name === undefined ? fieldSelector : `metadata.name=${name}` };
  const printer = createObjectPrinter(output, false);
  const table = tablePrinter(command, { resource: target.resource, output, hasPrefix: false });
  const headers = printer === undefined ? tableHeaders : {};
  let resourceVersion = '';
  const query = { ...selectors, sort: textFlag(command.flags, 'sort') };
  for await (const page of command.server.pages(path, { query, headers })) {
    resourceVersion = textAt(page, 'metadata', 'resourceVersion');
    if (printer === undefined) await table.print(page);
    else for (const object of itemsOf(page)) await printer.object(shown(command, object), target.resource);
  }
  for await (const { type, object } of command.server.watch(path, {
    query: { ...selectors, resourceVersion },
    headers,
  })) {
    if (type === 'BOOKMARK') continue;
    if (printer === undefined) await table.print(object);
    else await printer.object(shown(command, serverObject(object)), target.resource);
  }
  return 0;
}

interface TableOf {
  readonly resource: ServedResource;
  readonly output: string;
  readonly hasPrefix: boolean;
}

function tablePrinter({ flags }: ClientCommand, { resource, output, hasPrefix }: TableOf): TablePrinter {
  return new TablePrinter({
    isWide: output === 'wide',
    hasNamespaces: flags['all-namespaces'] === true && resource.isNamespaced,
    hasLabels: flags['show-labels'] === true,
    hasHeaders: flags['headers'] !== false,
    namePrefix: hasPrefix ? `${qualifiedName(resource)}/` : '',
  });
}

const tableHeaders = { accept: tableType } as const;

function tableRequest(command: ClientCommand): { readonly query: Query; readonly headers: typeof tableHeaders } {
  return { query: listQuery(command), headers: tableHeaders };
}

function listQuery(command: ClientCommand): Query {
  return { ...selectorsOf(command), sort: textFlag(command.flags, 'sort') };
}

/**
 * Resolves with the result of `read`. When the object does not exist (404), prints the error, unless
 * `--ignore-not-found` is given, and resolves with undefined.
 */
async function found<T>({ flags }: ClientCommand, read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof ServerRefusal) || error.code !== 404) throw error;
    if (flags['ignore-not-found'] !== true) note(error.message);
    return undefined;
  }
}

function shown({ flags }: ClientCommand, object: ServerObject): ServerObject {
  return flags['show-managed-fields'] === true ? object : withoutManagedFields(object);
}

/**
 * Returns the objects of a list that is not a Table. An object without `apiVersion` gets that of the list. An object
 * without `kind` gets the kind of the list without `List`, such as Person in a PersonList.
 */
function itemsOf({ items, apiVersion, kind }: Readonly<Record<string, unknown>>): readonly ServerObject[] {
  const ofList = { apiVersion, kind: String(kind).replace(/List$/, '') };
  return objectsAt(items)
    .map((item) => ({ ...ofList, ...item }))
    .filter(isServerObject);
}

function hasRows({ rows }: Readonly<Record<string, unknown>>): boolean {
  return Array.isArray(rows) && rows.length > 0;
}

function sayNone({ flags, namespace }: ClientCommand, collections: readonly CollectionTarget[]): void {
  const isNamespaced = collections.some(({ resource }) => resource.isNamespaced);
  const place = isNamespaced && flags['all-namespaces'] !== true ? ` in ${namespace} namespace` : '';
  note(`No resources found${place}.`);
}
