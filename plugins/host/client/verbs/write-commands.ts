import { isJsonObject } from '@homeostat/controller-runtime/api';
import { readFile } from 'node:fs/promises';
import { textFlag } from '../../serve/text-flag.ts';
import type { ClientCommand } from '../client-command.ts';
import { CommandError } from '../command-error.ts';
import { filesOf, readTarget } from '../object-arguments.ts';
import type { Query } from '../object-server.ts';
import { createObjectPrinter, objectFormats } from '../output/object-printer.ts';
import { print } from '../output/print.ts';
import { readObjectFiles } from '../read-object-files.ts';
import type { FileObject } from '../read-object-files.ts';
import { readYaml } from '../read-yaml.ts';
import { collectionPath, qualifiedName } from '../resource-names.ts';
import type { ServedResource } from '../resource-names.ts';
import { serverObject, textAt, withoutManagedFields } from '../server-object.ts';
import type { ServerObject } from '../server-object.ts';
import { eachItem } from './each-item.ts';

/** The manager of the fields that the command line writes, unless `--field-manager` names another one. */
const defaultManager = 'homeostat';

/**
 * `homeostat create -f`: creates objects. If an object exists already, that is an error, but the other objects are
 * created.
 */
export async function createObjects(command: ClientCommand): Promise<number> {
  const files = filesOf(command);
  if (files.length === 0) throw new CommandError('-f is needed: the files with the objects to create', 2);
  const tell = writePrinter(command);
  const names = await command.names();
  const create = async ({ object: body }: FileObject): Promise<void> => {
    const resource = names.ofObject(body.apiVersion, body.kind);
    const namespace = textAt(body.metadata, 'namespace') || command.namespace;
    const path = collectionPath(resource, namespace);
    const object = serverObject(await command.server.send('POST', path, { query: writeQuery(command), body }));
    await tell({ resource, object, done: 'created' });
  };
  return eachItem(await readObjectFiles(files), create, ({ origin }) => origin);
}

/** The media type of the patch for each value of `--type`. */
const patchTypes: ReadonlyMap<string, string> = new Map([
  ['merge', 'application/merge-patch+json'],
  ['json', 'application/json-patch+json'],
]);

/** `homeostat patch TYPE NAME -p PATCH`: changes fields of an object. */
export async function patchObject(command: ClientCommand): Promise<number> {
  const { flags, server } = command;
  const contentType = patchTypes.get(textFlag(flags, 'type') ?? 'merge');
  if (contentType === undefined) throw new CommandError('--type: must be merge or json', 2);
  const tell = writePrinter(command);
  const body = await readPatch(flags);
  const target = await readTarget(command);
  const subresource = textFlag(flags, 'subresource');
  const before = serverObject(await server.send('GET', target.path));
  const path = subresource === undefined ? target.path : `${target.path}/${encodeURIComponent(subresource)}`;
  const object = serverObject(await server.send('PATCH', path, { query: writeQuery(command), body, contentType }));
  const isSame = object.metadata.resourceVersion === before.metadata.resourceVersion;
  await tell({ resource: target.resource, object, done: isSame ? 'patched (no change)' : 'patched' });
  return 0;
}

async function readPatch(flags: ClientCommand['flags']): Promise<unknown> {
  const [given, file] = [textFlag(flags, 'patch'), textFlag(flags, 'patch-file')];
  if ((given === undefined) === (file === undefined))
    throw new CommandError('give the patch once: by -p, or by --patch-file', 2);
  const text = given ?? (await readFile(file ?? '', 'utf8'));
  const [patch, ...more] = readYaml(text, file ?? '-p', 2);
  if (more.length === 0 && (isJsonObject(patch) || Array.isArray(patch))) return patch;
  throw new CommandError(`${file ?? '-p'}: the patch must be an object or a list, in JSON or YAML`, 2);
}

/** Returns the query of a write: the field manager, strict validation of fields, and `dryRun`. @throws CommandError */
export function writeQuery({ flags }: Pick<ClientCommand, 'flags'>): Query {
  return {
    fieldManager: textFlag(flags, 'field-manager') ?? defaultManager,
    fieldValidation: 'Strict',
    ...dryRunQuery(flags),
  };
}

/**
 * Returns the query of a dry run; without a dry run, an empty query. The server makes each dry run, because a client
 * alone cannot know what the server would do.
 */
export function dryRunQuery(flags: ClientCommand['flags']): Query {
  const mode = flags['dry-run'];
  if (mode === undefined || mode === 'none') return {};
  if (mode === 'server' || mode === true) return { dryRun: 'All' };
  throw new CommandError(`--dry-run: must be server or none, not ${JSON.stringify(mode)}`, 2);
}

interface Written {
  readonly resource: ServedResource;
  readonly object: ServerObject;
  /** The result, such as `created`. */
  readonly done: string;
}

/**
 * Returns a function that prints the result of a write; with `-o`, the function prints the object in this format. A
 * command uses the same function for all its objects. @throws CommandError
 */
export function writePrinter({ flags }: ClientCommand): (written: Written) => Promise<void> {
  const output = textFlag(flags, 'output');
  const dryRun = dryRunQuery(flags)['dryRun'] === undefined ? '' : ' (server dry run)';
  if (output === undefined)
    return async ({ resource, object, done }) =>
      print(`${qualifiedName(resource)}/${object.metadata.name} ${done}${dryRun}\n`);
  const printer = createObjectPrinter(output, false);
  if (printer === undefined) throw new CommandError(`-o: must be ${objectFormats}; not "${output}"`, 2);
  return async ({ resource, object }) => {
    await printer.object(withoutManagedFields(object), resource);
    await printer.end();
  };
}
