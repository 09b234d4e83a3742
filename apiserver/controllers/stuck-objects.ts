import { controllerModel, explainObject, isJsonObject } from '@homeostat/controller-runtime/api';
import type { ApiObject, ControllerKey, ControllerObject, NamedObject } from '@homeostat/controller-runtime/api';
import type { Entry } from '../index/entry.ts';
import type { Resource } from '../registry/kinds/resource.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import { decodeObject } from '../registry/object/object-codec.ts';
import { nextTurn } from '../turns/next-turn.ts';

/** An object whose deletion takes long, whose reconciliation fails, or whose status is out of date; and the problem. */
interface StuckObject {
  readonly object: NamedObject;
  /** `Deleting`, `Failing`, `Parked`, or `Behind` (the object's status is about an earlier generation). */
  readonly problem: 'Deleting' | 'Failing' | 'Parked' | 'Behind';
  readonly since?: string;
  /** The controller that fails. */
  readonly controller?: string;
  readonly message: string;
}

/** A problem is shown after it has lasted for this time. A parked key is shown immediately. */
const patienceMs = 60_000;

/** A text that sorts after every time. Problems whose beginning is unknown are sorted by it. */
const noTime = '9999';

/**
 * The maximum number of objects in the response. For each kind, at most this number of objects that are being deleted
 * are checked. The search for objects whose status is about an old generation ends when it has found this number in
 * all kinds together.
 */
const maxItems = 500;

/** The maximum number of objects of a kind whose status is read. */
const maxRead = 10_000;
const readPerTurn = 200;

/**
 * Returns the objects whose deletion takes long, whose reconciliation has failed for long, or whose status is about an
 * old generation. The oldest problem comes first; problems whose beginning is unknown come last.
 */
export async function stuckObjects({
  table,
  nowMs,
}: {
  readonly table: ResourceTable;
  readonly nowMs: number;
}): Promise<{ readonly items: readonly StuckObject[]; readonly total: number }> {
  const controllers = controllersIn(table);
  const failing = controllers.flatMap((controller) => failingOf(controller, nowMs));
  const deleting = resourcesOf(table).flatMap((resource) => deletingOf(resource, controllers, nowMs));
  const behind = await behindOf(table, controllers, nowMs);
  // If an object has several problems, only the first one in this order is shown, since it explains the others: a
  // deletion, a parked key, a failure, an outdated status.
  const parked = failing.filter(({ problem }) => problem === 'Parked');
  const first = new Map([...behind, ...failing, ...parked, ...deleting].map((each) => [idOf(each), each]));
  const items = [...first.values()];
  const oldest = items.toSorted(({ since: a = noTime }, { since: b = noTime }) => a.localeCompare(b));
  return { items: oldest.slice(0, maxItems), total: items.length };
}

/** Returns an id for the object. It has no version, since all versions of a kind have the same objects. */
function idOf({ object: { apiVersion, kind, namespace = '', name } }: StuckObject): string {
  return [apiVersion.replace(/\/?[^/]*$/, ''), kind, namespace, name].join(' ');
}

function resourcesOf(table: ResourceTable): readonly Resource[] {
  return table.models().flatMap(({ group, version, plural }) => {
    const found = table.find(group, version, plural);
    return found?.storage === found && found !== undefined ? [found] : [];
  });
}

function controllersIn(table: ResourceTable): readonly ControllerObject[] {
  const { group, version, plural } = controllerModel;
  const found = table.find(group, version, plural);
  return Array.from(found?.cache.entries() ?? [], ({ bytes }) => decodeObject<ControllerObject>(bytes));
}

function failingOf({ spec, status }: ControllerObject, nowMs: number): readonly StuckObject[] {
  return (status?.keys ?? []).flatMap((key) => {
    if (!isFailingForLong(key, nowMs)) return [];
    const [namespace, name] = key.key.includes('/') ? key.key.split('/') : [undefined, key.key];
    const object = { ...spec.reconciles, ...(namespace === undefined ? {} : { namespace }), name: name ?? key.key };
    const since = key.failingSince === undefined ? {} : { since: key.failingSince };
    const problem = key.state === 'parked' ? 'Parked' : 'Failing';
    return [
      {
        object,
        problem,
        ...since,
        controller: spec.controller,
        message: key.lastError ?? 'the reconciler requests a requeue again and again',
      },
    ];
  });
}

function isFailingForLong({ state, attempts, failingSince }: ControllerKey, nowMs: number): boolean {
  if (state === 'parked') return true;
  return attempts > 0 && failingSince !== undefined && nowMs - Date.parse(failingSince) > patienceMs;
}

function deletingOf(
  resource: Resource,
  controllers: readonly ControllerObject[],
  nowMs: number,
): readonly StuckObject[] {
  const times = resource.cache.index('metadata.deletionTimestamp')?.values;
  const found: Entry[] = [];
  times?.forEach(0, Math.min(times.size, maxItems), (entry) => found.push(entry) > 0);
  return found.flatMap((entry) => {
    const object = decodeObject(entry.bytes);
    const since = object.metadata.deletionTimestamp;
    if (since === undefined || nowMs - Date.parse(since) < patienceMs) return [];
    const { finalizers } = explainObject({ object, controllers, runs: [], owners: [], nowMs });
    const message = finalizers.map(({ name, message: why }) => `${name}: ${why}`).join(' ');
    return [{ object: referenceTo(object), problem: 'Deleting', since, message }];
  });
}

/**
 * Returns the objects whose status is about an old generation. It checks only kinds that a controller reconciles,
 * because only their status is expected to follow the spec.
 */
async function behindOf(
  table: ResourceTable,
  controllers: readonly ControllerObject[],
  nowMs: number,
): Promise<readonly StuckObject[]> {
  const kinds = new Set(controllers.map(({ spec: { reconciles } }) => `${reconciles.apiVersion} ${reconciles.kind}`));
  const found: StuckObject[] = [];
  for (const resource of resourcesOf(table)) {
    if (!kinds.has(`${resource.apiVersion} ${resource.model.kind}`)) continue;
    let read = 0;
    for (const { bytes } of firstOf(resource.cache.entries(), maxRead)) {
      const behind = bytes.includes('"observedGeneration"') ? behindObject(decodeObject(bytes), nowMs) : undefined;
      if (behind !== undefined) found.push(behind);
      read += 1;
      if (read % readPerTurn === 0) await nextTurn();
      if (found.length >= maxItems) return found;
    }
  }
  return found;
}

/** Copies the first entries into an array, because writes between two turns may change the iterated `entries`. */
function firstOf(entries: Iterable<Entry>, count: number): readonly Entry[] {
  const first: Entry[] = [];
  for (const entry of entries) {
    if (first.push(entry) === count) break;
  }
  return first;
}

function behindObject(object: ApiObject, nowMs: number): StuckObject | undefined {
  const status: unknown = Reflect.get(object, 'status');
  const observed: unknown = isJsonObject(status) ? status['observedGeneration'] : undefined;
  const { generation, managedFields = [], deletionTimestamp } = object.metadata;
  if (typeof observed !== 'number' || observed >= generation || deletionTimestamp !== undefined) return undefined;
  const since = managedFields
    .flatMap(({ time, subresource }) => (subresource === undefined && time ? [time] : []))
    .sort()
    .at(-1);
  if (since === undefined || nowMs - Date.parse(since) < patienceMs) return undefined;
  const message = `the status describes generation ${observed}; the spec has generation ${generation}`;
  return { object: referenceTo(object), problem: 'Behind', since, message };
}

function referenceTo({ apiVersion, kind, metadata }: ApiObject): NamedObject {
  const { name, namespace, uid } = metadata;
  return { apiVersion, kind, ...(namespace === undefined ? {} : { namespace }), name, uid };
}
