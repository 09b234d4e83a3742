import type { JsonObject } from '@homeostat/controller-runtime/api';
import { textFlag } from '../serve/text-flag.ts';
import type { ClientCommand } from './client-command.ts';
import { CommandError } from './command-error.ts';
import { readObjectFiles } from './read-object-files.ts';
import { collectionPath, objectPath } from './resource-names.ts';
import type { ServedResource } from './resource-names.ts';
import { textAt } from './server-object.ts';

/** All objects of a kind, in one namespace or in all. */
export interface CollectionTarget {
  readonly resource: ServedResource;
  readonly path: string;
}

/** One object. */
export interface ObjectTarget extends CollectionTarget {
  readonly name: string;
}

export interface Targets {
  readonly objects: readonly ObjectTarget[];
  readonly collections: readonly CollectionTarget[];
}

/**
 * Reads the arguments of a command as kubectl does: `TYPE`, `TYPE,TYPE`, `TYPE NAME …`, `TYPE/NAME …`, or the files of
 * `-f`. @throws CommandError
 */
export async function readTargets(command: ClientCommand): Promise<Targets> {
  const targets = await targetsOf(command);
  if (targets.objects.length > 0) checkNothingElseSelects(command);
  return targets;
}

/** Refuses selectors and `--all` together with names: they would have no effect, and the user would not notice. */
function checkNothingElseSelects({ flags }: ClientCommand): void {
  for (const [name, text] of [
    ['selector', '-l'],
    ['field-selector', '--field-selector'],
    ['all', '--all'],
  ] as const)
    if (flags[name] !== undefined)
      throw new CommandError(`${text}: cannot be used together with names; leave out the names or ${text}`, 2);
}

async function targetsOf(command: ClientCommand): Promise<Targets> {
  const files = filesOf(command);
  const { args } = command;
  if (files.length > 0) {
    if (args.length > 0) throw new CommandError('-f: the files name the objects; leave the arguments out', 2);
    return { objects: await targetsOfFiles(command, files), collections: [] };
  }
  const [first, ...rest] = args;
  if (first === undefined)
    throw new CommandError('you must specify the type of resource: TYPE, TYPE NAME, TYPE/NAME, or -f FILE', 2);
  const names = await command.names();
  if (first.includes('/'))
    return { objects: await Promise.all(args.map((each) => objectOf(command, each))), collections: [] };
  const types = first.split(',').filter((type) => type !== '');
  const resources = types.flatMap((type) => {
    const category = names.inCategory(type);
    return category.length > 0 ? category : [names.find(type)];
  });
  if (rest.length === 0)
    return { objects: [], collections: resources.map((resource) => collectionOf(command, resource)) };
  if (command.flags['all-namespaces'] === true)
    throw new CommandError('-A: a named object is in one namespace; leave out the name or -A', 2);
  return {
    objects: resources.flatMap((resource) => rest.map((name) => targetOf(command, resource, name))),
    collections: [],
  };
}

/** Reads the arguments of a command for exactly one object. @throws CommandError */
export async function readTarget(command: ClientCommand): Promise<ObjectTarget> {
  const { objects } = await readTargets(command);
  const [target] = objects;
  if (target === undefined || objects.length > 1)
    throw new CommandError('exactly one object is needed: TYPE NAME or TYPE/NAME', 2);
  return target;
}

export function filesOf({ flags }: Pick<ClientCommand, 'flags'>): readonly string[] {
  const { filename } = flags;
  return Array.isArray(filename) ? filename.map(String) : [];
}

/** Returns the target for an item of a list, in the namespace of the item. */
export function targetOfItem(command: ClientCommand, resource: ServedResource, item: JsonObject): ObjectTarget {
  const namespace = textAt(item, 'metadata', 'namespace');
  const place = namespace === '' ? command : { ...command, namespace };
  return targetOf(place, resource, textAt(item, 'metadata', 'name'));
}

function targetOf(command: ClientCommand, resource: ServedResource, name: string): ObjectTarget {
  if (name === '') throw new CommandError(`${resource.plural}: the name is empty`, 2);
  return { resource, name, path: objectPath(resource, command.namespace, name) };
}

/** Returns the values of `-l` and `--field-selector`. */
export function selectorsOf({ flags }: Pick<ClientCommand, 'flags'>): {
  readonly labelSelector: string | undefined;
  readonly fieldSelector: string | undefined;
} {
  return { labelSelector: textFlag(flags, 'selector'), fieldSelector: textFlag(flags, 'field-selector') };
}

function collectionOf({ flags, namespace }: ClientCommand, resource: ServedResource): CollectionTarget {
  return { resource, path: collectionPath(resource, flags['all-namespaces'] === true ? undefined : namespace) };
}

async function objectOf(command: ClientCommand, argument: string): Promise<ObjectTarget> {
  const [type = '', name = '', ...more] = argument.split('/');
  if (type === '' || name === '' || more.length > 0)
    throw new CommandError(`"${argument}": write TYPE/NAME; if one argument has a slash, every argument needs one`, 2);
  return targetOf(command, (await command.names()).find(type), name);
}

async function targetsOfFiles(command: ClientCommand, files: readonly string[]): Promise<readonly ObjectTarget[]> {
  const names = await command.names();
  return (await readObjectFiles(files)).map(({ object, origin }) => {
    const name = textAt(object.metadata, 'name');
    const namespace = textAt(object.metadata, 'namespace') || command.namespace;
    if (name === '') throw new CommandError(`${origin}: metadata.name must be set`);
    const resource = names.ofObject(object.apiVersion, object.kind);
    return { resource, name, path: objectPath(resource, namespace, name) };
  });
}
