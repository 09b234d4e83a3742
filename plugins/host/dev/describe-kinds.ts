import { apiVersionOf } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { schemaDifference } from './schema-difference.ts';
import type { FieldChange } from './schema-difference.ts';
import type { StoredObjects } from './stored-objects.ts';

/** The kinds of a plugin by apiVersion and kind. */
export type Kinds = ReadonlyMap<string, ModelDescriptor>;

/** Returns the kinds that `plugin` has registered. */
export function kindsOf(
  registrations: readonly { readonly owner: string; readonly descriptor: ModelDescriptor }[],
  plugin: string,
): Kinds {
  const own = registrations.filter(({ owner }) => owner === plugin);
  return new Map(own.map(({ descriptor }) => [`${apiVersionOf(descriptor)} ${descriptor.kind}`, descriptor]));
}

/** The maximum number of refused objects that are named; the others are only counted. */
const maxNamed = 5;

const marks: Readonly<Record<FieldChange['change'], string>> = { added: '+', removed: '-', changed: '~' };

/**
 * Returns the differences between two versions of a plugin's kinds, one on each line; `tryStored` checks the stored
 * objects of a changed kind.
 */
export async function describeKinds(
  before: Kinds,
  after: Kinds,
  tryStored: (kind: ModelDescriptor) => Promise<StoredObjects>,
): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const [name, kind] of after) {
    const old = before.get(name);
    const changes = old === undefined ? [] : schemaDifference(old, kind);
    if (old === undefined) lines.push(`${name} is new`);
    if (changes.length > 0) lines.push(name, ...changes.map(lineOf), ...linesOf(await tryStored(kind)));
  }
  const gone = [...before.keys()].filter((name) => !after.has(name));
  return [
    ...lines,
    ...gone.map((name) => `${name} is removed; its objects stay stored, and are served again when the kind returns`),
  ];
}

function lineOf({ field, change, what, meaning }: FieldChange): string {
  return `  ${marks[change]} ${field}${what === '' ? '' : ` (${what})`}: ${meaning}`;
}

function linesOf({ total, tried, unfit }: StoredObjects): readonly string[] {
  if (total === 0) return ['  no object is stored'];
  const count = tried < total ? `of the first ${tried} of ${total} stored objects` : `of ${total} stored objects`;
  const named = unfit.slice(0, maxNamed).map((message) => `    ${message}`);
  return [`  ${count}, ${unfit.length === 0 ? 'all fit' : `${unfit.length} would be refused at a write`}`, ...named];
}
