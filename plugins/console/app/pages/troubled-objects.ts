import { useEffect, useRef, useState } from 'preact/hooks';
import { isArray, isObject, textOf } from '../base/json.ts';
import { healthOf, nameOf, namespaceOf } from '../base/object.ts';
import type { ApiObject, Health } from '../base/object.ts';
import { keyOf, pathOf } from '../api/resources.ts';
import type { Resource } from '../api/resources.ts';
import { reportsOf } from '../state/controllers.ts';
import type { ControllerInfo } from '../state/controllers.ts';
import { isBuiltIn, kindOfObject, listedKinds } from '../state/kinds.ts';
import { objectsOf } from '../state/plugins.ts';
import { objectHref } from '../state/route.ts';
import { api, may, mayGet } from '../state/session.ts';
import { useThrottled } from '../state/use-throttled.ts';

/** An object that fails, is being deleted, or is not up to date. */
export interface Troubled {
  readonly key: string;
  readonly href: string;
  readonly name: string;
  readonly kind: string;
  readonly health: Health;
  /** When the problem began; empty while that is not known. */
  readonly since: string;
  readonly reason: string;
  /** The controller that has the problem, and the link to the runs of the object. */
  readonly cause?: { readonly controller: string; readonly href: string };
}

export interface KindHealth {
  readonly resource: Resource;
  readonly total: number;
  readonly troubled: readonly Troubled[];
}

interface FoundHealth {
  /** undefined until the kinds are read. */
  readonly kinds: readonly KindHealth[] | undefined;
  /** The objects with a problem, the worst first. */
  readonly troubled: readonly Troubled[];
  /** True when a kind has more objects than were read. */
  readonly isPartial: boolean;
  readonly refresh: () => void;
}

/** The maximum number of objects that are read of each kind. */
export const sample = 500;

/** The shortest time between two repeated reads of a kind, however often its controllers report runs. */
const rereadMs = 5000;

/**
 * Returns the health of the objects of all kinds that are not built in: of the first {@link sample} objects of each
 * kind, and of the stuck objects that the server finds. A kind is read again after its controllers have reported runs.
 */
export function useHealth(list: readonly ControllerInfo[]): FoundHealth {
  const [byKind, setByKind] = useState<ReadonlyMap<string, KindHealth | undefined>>(new Map());
  const [stuck, setStuck] = useState<readonly Troubled[]>([]);
  const [count, setCount] = useState(0);
  const own = listedKinds.value.filter((kind) => !isBuiltIn(kind) && may('list', kind));
  const stamps = own.map((resource) => `${keyOf(resource)} ${reportsOf(list, resource.kind)}`);
  const stamp = useThrottled([...stamps, String(count)].join('\n'), rereadMs);
  const isStuckKnown = mayGet(stuckPath);
  const versions = useRef(new Map<string, string>());
  const end = useEnd();
  useEffect(() => {
    const readKind = async (resource: Resource): Promise<void> => {
      const key = keyOf(resource);
      const version = `${count} ${reportsOf(list, resource.kind)}`;
      if (versions.current.get(key) === version) return;
      versions.current.set(key, version);
      const found = await readHealth(resource, end);
      if (!end.aborted && versions.current.get(key) === version) setByKind((old) => new Map([...old, [key, found]]));
    };
    for (const resource of own) void readKind(resource);
    if (isStuckKnown) void readStuck(end).then((found) => end.aborted || setStuck(found));
  }, [stamp, isStuckKnown]);
  const isRead = own.every((each) => byKind.has(keyOf(each)));
  const kinds = own.flatMap((each) => byKind.get(keyOf(each)) ?? []);
  return {
    kinds: isRead ? kinds : undefined,
    troubled: worstFirst([...stuck, ...kinds.flatMap(({ troubled }) => troubled)]),
    isPartial: kinds.some(({ total }) => total > sample),
    refresh: () => setCount(count + 1),
  };
}

/** Returns a signal that aborts when the page is closed. */
function useEnd(): AbortSignal {
  const [end] = useState(() => new AbortController());
  useEffect(() => () => end.abort(), []);
  return end.signal;
}

const rank: Readonly<Record<Health, number>> = { failing: 0, deleting: 1, progressing: 2, ok: 3 };

/**
 * Sorts the entries by severity. If `all` has several entries for one object, keeps only the first of them. `all`
 * begins with the server's entries for stuck objects, so these are kept: they explain the problem.
 */
function worstFirst(all: readonly Troubled[]): readonly Troubled[] {
  const first = new Map<string, Troubled>();
  for (const each of all) if (!first.has(each.key)) first.set(each.key, each);
  return [...first.values()].sort(
    (a, b) => rank[a.health] - rank[b.health] || (a.since || '~').localeCompare(b.since || '~'),
  );
}

async function readHealth(resource: Resource, signal: AbortSignal): Promise<KindHealth | undefined> {
  try {
    const list = await api.get(pathOf(resource), { limit: sample }, signal);
    const objects = objectsOf(list);
    const total = isObject(list) && typeof list.total === 'number' ? list.total : objects.length;
    const troubled = objects.flatMap((each) => {
      const health = healthOf(each);
      return health === 'ok' ? [] : [troubledObject(resource, each, health)];
    });
    return { resource, total, troubled };
  } catch {
    return undefined;
  }
}

function placed(resource: Resource, namespace: string, name: string): Pick<Troubled, 'key' | 'href' | 'name' | 'kind'> {
  const key = keyOf(resource);
  return { key: `${key} ${namespace}/${name}`, href: objectHref(key, namespace, name), name, kind: resource.kind };
}

function troubledObject(resource: Resource, object: ApiObject, health: Health): Troubled {
  const { deletionTimestamp } = object.metadata;
  const since = health === 'deleting' ? textOf(deletionTimestamp) : '';
  return { ...placed(resource, namespaceOf(object), nameOf(object)), health, since, reason: reasonOf(object) };
}

/**
 * Returns the finalizers that a deleted object waits for. For other objects, returns the reason and message of the
 * first condition that is not True, or else of the first condition; without conditions, returns the phase.
 */
function reasonOf(object: ApiObject): string {
  const { finalizers, deletionTimestamp } = object.metadata;
  if (deletionTimestamp !== undefined && isArray(finalizers)) return `waits for ${finalizers.map(String).join(', ')}`;
  const status = isObject(object.status) ? object.status : {};
  const conditions = isArray(status.conditions) ? status.conditions.filter(isObject) : [];
  const bad = conditions.find((each) => each.status !== 'True') ?? conditions[0];
  return bad === undefined
    ? textOf(status.phase)
    : [textOf(bad.reason), textOf(bad.message)].filter((each) => each !== '').join(': ');
}

const stuckHealths: Readonly<Record<string, Health>> = {
  Deleting: 'deleting',
  Failing: 'failing',
  Parked: 'failing',
  Behind: 'progressing',
};

const stuckPath = '/debug/stuck';

/** Returns the stuck objects of all kinds, as the server finds them. */
async function readStuck(signal: AbortSignal): Promise<readonly Troubled[]> {
  const page = await api.get(stuckPath, {}, signal).catch(() => undefined);
  const items = isObject(page) && isArray(page.items) ? page.items.filter(isObject) : [];
  return items.flatMap(({ object, problem, since, controller, message }) => {
    if (!isObject(object)) return [];
    const resource = kindOfObject(textOf(object.apiVersion), textOf(object.kind));
    if (resource === undefined) return [];
    const [namespace, name, by] = [textOf(object.namespace), textOf(object.name), textOf(controller)];
    const href = objectHref(keyOf(resource), namespace, name, 'runs');
    return [
      {
        ...placed(resource, namespace, name),
        health: stuckHealths[textOf(problem)] ?? 'failing',
        since: textOf(since),
        reason: textOf(message),
        ...(by === '' ? {} : { cause: { controller: by, href } }),
      },
    ];
  });
}
