import { useEffect, useState } from 'preact/hooks';
import { healthOf, isApiObject, nameOf, namespaceOf, ownersOf, uidOf } from '../../base/object.ts';
import type { ApiObject } from '../../base/object.ts';
import { isObject, textOf } from '../../base/json.ts';
import { formatCount } from '../../base/shown-text.ts';
import { toFailure } from '../../api/failure.ts';
import type { ApiFailure } from '../../api/failure.ts';
import { keyOf, pathOf } from '../../api/resources.ts';
import { Empty, Failure, HealthBadge, Loading } from '../../parts/basics.tsx';
import { reportsOf, useControllers } from '../../state/controllers.ts';
import { kindOfObject } from '../../state/kinds.ts';
import { objectsOf } from '../../state/plugins.ts';
import { objectHref } from '../../state/route.ts';
import { api } from '../../state/session.ts';
import { useThrottled } from '../../state/use-throttled.ts';
import type { Place } from '../../state/place.ts';

interface Family {
  /**
   * The chain of owners above the object, at most ten, from the top down to the object's own owner. If an object has
   * several owners, the chain contains only the first one in its `ownerReferences`.
   */
  readonly owners: readonly ApiObject[];
  /** The owned objects, by the uid of their owner. */
  readonly owned: ReadonlyMap<string, readonly ApiObject[]>;
  readonly count: number;
  /** False when the object owns more objects than those in `owned`. */
  readonly isComplete: boolean;
}

/** The shortest time between two repeated reads of the tree, however often controllers report runs. */
const rereadMs = 3000;

/** The owners of an object, and the objects that it owns, with their health. */
export function TreeTab({ place, object }: { readonly place: Place; readonly object: ApiObject }) {
  const [family, setFamily] = useState<Family>();
  const [failure, setFailure] = useState<ApiFailure>();
  const [attempt, setAttempt] = useState(0);
  // Runs of controllers often change the owned objects without a change of the object itself, so the tree is read again
  // when the reports of the controllers change, too.
  const { list = [] } = useControllers();
  const stamp = useThrottled(`${textOf(object.metadata.resourceVersion)} ${reportsOf(list)}`, rereadMs);
  useEffect(() => {
    const end = new AbortController();
    const read = async (): Promise<void> => {
      try {
        const found = await readFamily(place, object, end.signal);
        if (end.signal.aborted) return;
        setFamily(found);
        setFailure(undefined);
      } catch (error) {
        if (!end.signal.aborted) setFailure(toFailure(error));
      }
    };
    void read();
    return () => end.abort();
  }, [stamp, attempt]);
  if (failure !== undefined) return <Failure failure={failure} onRetry={() => setAttempt(attempt + 1)} />;
  if (family === undefined) return <Loading />;
  const isAlone = family.owners.length === 0 && !family.owned.has(uidOf(object));
  return (
    <div class="card">
      {isAlone ? (
        <Empty title="This object has no owner, and owns no other object">
          Objects with an owner reference to this one appear here, and are deleted with it.
        </Empty>
      ) : (
        <ul class="tree">
          <Branch chain={[...family.owners, object]} family={family} />
        </ul>
      )}
      {family.isComplete ? null : (
        <p class="muted">This object owns more objects: these are the first {formatCount(family.count)}.</p>
      )}
    </div>
  );
}

/** Shows the owners, one below the other, down to the object, and then the objects that it owns. */
function Branch({ chain, family }: { readonly chain: readonly ApiObject[]; readonly family: Family }) {
  const [first, ...rest] = chain;
  if (first === undefined) return null;
  const children = rest.length > 0 ? [] : (family.owned.get(uidOf(first)) ?? []);
  return (
    <li>
      <NodeLine object={first} isHere={rest.length === 0} />
      {rest.length + children.length === 0 ? null : (
        <ul>
          {rest.length > 0 ? <Branch chain={rest} family={family} /> : null}
          {children.map((child) => (
            <Owned key={uidOf(child)} object={child} family={family} />
          ))}
        </ul>
      )}
    </li>
  );
}

function Owned({ object, family }: { readonly object: ApiObject; readonly family: Family }) {
  const children = family.owned.get(uidOf(object)) ?? [];
  return (
    <li>
      <NodeLine object={object} isHere={false} />
      {children.length === 0 ? null : (
        <ul>
          {children.map((child) => (
            <Owned key={uidOf(child)} object={child} family={family} />
          ))}
        </ul>
      )}
    </li>
  );
}

function NodeLine({ object, isHere }: { readonly object: ApiObject; readonly isHere: boolean }) {
  const kind = textOf(object.kind);
  const resource = kindOfObject(textOf(object.apiVersion), kind);
  const name = nameOf(object);
  return (
    <span class={isHere ? 'node node-here' : 'node'}>
      <span class="muted">{kind}</span>
      {resource === undefined ? name : <a href={objectHref(keyOf(resource), namespaceOf(object), name)}>{name}</a>}
      <HealthBadge health={healthOf(object)} />
    </span>
  );
}

async function readFamily({ resource, namespace, name }: Place, object: ApiObject, signal: AbortSignal) {
  const [owners, found] = await Promise.all([
    readOwners(namespace, object, signal),
    api.get(`${pathOf(resource, namespace, name)}/dependents`, {}, signal),
  ]);
  const items = objectsOf(found);
  const isComplete = isObject(found) && found.complete === true;
  return { owners, owned: treeOf(uidOf(object), items), count: items.length, isComplete };
}

/**
 * Returns the items, grouped by the uid of their owner. Each item appears only once, below its first owner that is the
 * root or an earlier item; otherwise the tree of objects that own each other would have no end.
 */
function treeOf(root: string, items: readonly ApiObject[]): Family['owned'] {
  const owned = new Map<string, ApiObject[]>();
  const known = new Set([root]);
  for (const item of items) {
    const owner = ownersOf(item).find(({ uid }) => known.has(uid) && uid !== uidOf(item));
    known.add(uidOf(item));
    if (owner === undefined) continue;
    const siblings = owned.get(owner.uid) ?? [];
    owned.set(owner.uid, siblings);
    siblings.push(item);
  }
  for (const siblings of owned.values()) siblings.sort((a, b) => placeOf(a).localeCompare(placeOf(b)));
  return owned;
}

const placeOf = (object: ApiObject): string => [textOf(object.kind), namespaceOf(object), nameOf(object)].join(' ');

async function readOwners(namespace: string, object: ApiObject, signal: AbortSignal): Promise<readonly ApiObject[]> {
  const chain: ApiObject[] = [];
  let child = object;
  // The chain ends after ten owners, because owners can form a cycle.
  while (chain.length < 10) {
    const [owner] = ownersOf(child);
    const resource = owner === undefined ? undefined : kindOfObject(owner.apiVersion, owner.kind);
    if (owner === undefined || resource === undefined) return chain;
    const path = pathOf(resource, resource.isNamespaced ? namespace : '', owner.name);
    const found = await api.get(path, {}, signal).catch(() => undefined);
    if (!isApiObject(found)) return chain;
    chain.unshift(found);
    child = found;
  }
  return chain;
}
