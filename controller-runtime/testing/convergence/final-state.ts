import { compareCodePoints, formatKey } from '../../api/index.ts';
import type { ApiObject } from '../../api/index.ts';
import type { ExternalSystem } from '../fakes/external-system.ts';
import { labelOfSystem, plainState } from './external-state.ts';

/**
 * The final state of a run, as it is compared with other runs: the objects, by kind and key, and the states of external
 * systems, by name. Parts that differ between equal runs are removed or replaced.
 */
export type FinalState = ReadonlyMap<string, unknown>;

export interface StateParts {
  /**
   * If true, each name that the server has made from a generateName is replaced by `<generateName>1`,
   * `<generateName>2` and so on. Then the states of the runs are compared.
   */
  readonly generatedNames: boolean;
  /** Applied to each object first. If it returns undefined, the object is not compared. */
  readonly normalise: (object: ApiObject) => ApiObject | undefined;
  /** External systems, whose states are compared, too. */
  readonly externalSystems: readonly ExternalSystem[];
}

const dateTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
/** Finds UUIDs anywhere in a string. */
const uuids = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
/** Fields of the metadata that differ between runs, or that depend on the order of changes. */
const incidental: ReadonlySet<string> = new Set(['resourceVersion', 'version', 'generation', 'uid', 'managedFields']);

/** Returns the final state without the parts that differ between equal runs. */
export function finalStateOf(objects: readonly ApiObject[], parts: StateParts): FinalState {
  const kept = objects.flatMap((object) => {
    const normal = parts.normalise(object);
    return normal === undefined ? [] : [normal];
  });
  const names = parts.generatedNames ? numberedNames(kept) : new Map<string, string>();
  const words = new Map([...names, ...labelsOf(kept, names)]);
  const external = parts.externalSystems.map(
    (system) => [labelOfSystem(system), plainState(system.state(), (text) => stringOf(text, words))] as const,
  );
  return new Map([...kept.map((object) => [labelOf(object, names), comparable(object, words)] as const), ...external]);
}

/**
 * Returns a label for the uid of each object, with the kind and name of the object. The labels replace the uids before
 * two final states are compared, so the comparison finds references to a missing or a wrong object.
 */
function labelsOf(
  objects: readonly ApiObject[],
  names: ReadonlyMap<string, string>,
): readonly (readonly [string, string])[] {
  return objects.map((object) => [object.metadata.uid, `<uid of ${labelOf(object, names)}>`]);
}

function labelOf({ kind, metadata }: ApiObject, names: ReadonlyMap<string, string>): string {
  const name = names.get(metadata.name) ?? metadata.name;
  return `${kind} ${formatKey(metadata.namespace === undefined ? { name } : { namespace: metadata.namespace, name })}`;
}

/** Numbers generated names in the order of the contents of their objects, because the order of creation is random. */
function numberedNames(objects: readonly ApiObject[]): ReadonlyMap<string, string> {
  const byPrefix = new Map<string, { readonly name: string; readonly content: string }[]>();
  for (const object of objects) {
    const { name, generateName, namespace = '' } = object.metadata;
    if (generateName === undefined || !name.startsWith(generateName)) continue;
    const id = `${object.kind} ${namespace}/${generateName}`;
    const content = JSON.stringify(comparable(object, new Map([[name, '']])));
    byPrefix.set(id, [...(byPrefix.get(id) ?? []), { name, content }]);
  }
  const numbered = [...byPrefix].flatMap(([id, made]) => {
    const prefix = id.slice(id.indexOf('/') + 1);
    return inOrderOfContent(made, ({ content }) => content).map(
      ({ name }, index) => [name, `${prefix}${index + 1}`] as const,
    );
  });
  return new Map(numbered);
}

/**
 * Converts an object to the form in which the objects of two runs are compared. `words` maps strings that differ in
 * each run to their replacements.
 */
function comparable(object: ApiObject, words: ReadonlyMap<string, string>): unknown {
  const { generation } = object.metadata;
  const valueOf = (value: unknown, field: string): unknown => {
    if (field === 'observedGeneration' && typeof value === 'number') return generationWord(generation - value);
    if (typeof value === 'string') return stringOf(value, words);
    if (Array.isArray(value)) return value.map((item) => valueOf(item, ''));
    return typeof value === 'object' && value !== null ? fieldsOf(value) : value;
  };
  const fieldsOf = (fields: object): Record<string, unknown> =>
    Object.fromEntries(Object.entries(fields).map(([field, value]) => [stringOf(field, words), valueOf(value, field)]));
  const metadata = Object.entries(object.metadata).filter(([field]) => !incidental.has(field));
  return fieldsOf({ ...object, metadata: Object.fromEntries(metadata) });
}

function inOrderOfContent<V>(items: readonly V[], contentOf: (item: V) => string): readonly V[] {
  return items.toSorted((a, b) => compareCodePoints(contentOf(a), contentOf(b)));
}

function generationWord(behind: number): string {
  return behind === 0 ? '<current>' : `<${behind} behind>`;
}

function stringOf(value: string, words: ReadonlyMap<string, string>): string {
  const word = words.get(value);
  if (word !== undefined) return word;
  if (dateTime.test(value)) return '<time>';
  return value.replaceAll(uuids, (uid) => words.get(uid) ?? '<uid of no object>');
}
