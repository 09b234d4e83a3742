import { useEffect, useState } from 'preact/hooks';
import { healthOf, isApiObject, nameOf, namespaceOf, ownersOf, uidOf } from '../../base/object.ts';
import type { ApiObject } from '../../base/object.ts';
import { isObject, textOf } from '../../base/json.ts';
import { keyOf, pathOf } from '../../api/resources.ts';
import type { Resource } from '../../api/resources.ts';
import { Empty, HealthBadge, Loading } from '../../parts/basics.tsx';
import { kindOfObject, listedKinds } from '../../state/kinds.ts';
import { objectsOf } from '../../state/plugins.ts';
import { objectHref } from '../../state/route.ts';
import { api, may } from '../../state/session.ts';
import type { Place } from '../../state/place.ts';

interface Node {
  readonly resource: Resource;
  readonly object: ApiObject;
}

interface Family {
  readonly owners: readonly Node[];
  /** Owned objects by the uid of their owner. */
  readonly owned: ReadonlyMap<string, readonly Node[]>;
  /** Kinds with more objects than were searched. */
  readonly unfinished: readonly string[];
}

/** The maximum number of objects of a kind that are searched. */
const searched = 1000;
/** Kinds with many objects that own nothing. */
const skipped = new Set(['runs', 'events', 'leases']);

/** The owners of an object, and the objects that it owns, with their health. */
export function TreeTab({ place, object }: { readonly place: Place; readonly object: ApiObject }) {
  const [family, setFamily] = useState<Family>();
  const revision = textOf(object.metadata.generation) || uidOf(object);
  useEffect(() => {
    const end = new AbortController();
    void readFamily(place, object, end.signal).then((found) => end.signal.aborted || setFamily(found));
    return () => end.abort();
  }, [revision]);
  if (family === undefined) return <Loading />;
  const isAlone = family.owners.length === 0 && !family.owned.has(uidOf(object));
  return (
    <div class="card">
      {isAlone ? (
        <Empty title="It has no owner, and owns nothing">
          Objects with an owner reference to this one appear here, and are deleted with it.
        </Empty>
      ) : (
        <ul class="tree">
          <Branch chain={[...family.owners, { resource: place.resource, object }]} family={family} />
        </ul>
      )}
      {family.unfinished.length === 0 ? null : (
        <p class="muted">
          Of {family.unfinished.join(', ')} only the first {searched} objects were searched.
        </p>
      )}
    </div>
  );
}

/** The owners, one below the other, down to the object; then the objects that it owns. */
function Branch({ chain, family }: { readonly chain: readonly Node[]; readonly family: Family }) {
  const [first, ...rest] = chain;
  if (first === undefined) return null;
  const children = rest.length > 0 ? [] : (family.owned.get(uidOf(first.object)) ?? []);
  return (
    <li>
      <NodeLine node={first} isHere={rest.length === 0} />
      {rest.length + children.length === 0 ? null : (
        <ul>
          {rest.length > 0 ? <Branch chain={rest} family={family} /> : null}
          {children.map((child) => (
            <Owned key={uidOf(child.object)} node={child} family={family} />
          ))}
        </ul>
      )}
    </li>
  );
}

function Owned({ node, family }: { readonly node: Node; readonly family: Family }) {
  const children = family.owned.get(uidOf(node.object)) ?? [];
  return (
    <li>
      <NodeLine node={node} isHere={false} />
      {children.length === 0 ? null : (
        <ul>
          {children.map((child) => (
            <Owned key={uidOf(child.object)} node={child} family={family} />
          ))}
        </ul>
      )}
    </li>
  );
}

function NodeLine({ node: { resource, object }, isHere }: { readonly node: Node; readonly isHere: boolean }) {
  return (
    <span class={isHere ? 'node node-here' : 'node'}>
      <span class="muted">{resource.kind}</span>{' '}
      <a href={objectHref(keyOf(resource), namespaceOf(object), nameOf(object))}>{nameOf(object)}</a>{' '}
      <HealthBadge health={healthOf(object)} />
    </span>
  );
}

async function readFamily(place: Place, object: ApiObject, signal: AbortSignal): Promise<Family> {
  const owners = await readOwners(place.namespace, object, signal);
  const kinds = listedKinds.value.filter((kind) => may('list', kind) && !skipped.has(kind.plural));
  const owned = new Map<string, Node[]>();
  const unfinished: string[] = [];
  const search = async (resource: Resource): Promise<void> => {
    const namespace = resource.isNamespaced ? place.namespace : '';
    const list = await api.get(pathOf(resource, namespace), { limit: searched }, signal);
    const metadata = isObject(list) ? list.metadata : undefined;
    if (isObject(metadata) && textOf(metadata.continue) !== '') unfinished.push(resource.kind);
    for (const each of objectsOf(list))
      for (const { uid } of ownersOf(each)) owned.set(uid, [...(owned.get(uid) ?? []), { resource, object: each }]);
  };
  // A kind that cannot be read does not keep the others from being shown.
  await Promise.allSettled(kinds.map(search));
  return { owners, owned, unfinished };
}

/** The controlling owners, outermost first. */
async function readOwners(namespace: string, object: ApiObject, signal: AbortSignal): Promise<readonly Node[]> {
  const chain: Node[] = [];
  let child = object;
  // Deeper chains would be a cycle.
  while (chain.length < 10) {
    const [owner] = ownersOf(child);
    const resource = owner === undefined ? undefined : kindOfObject(owner.apiVersion, owner.kind);
    if (owner === undefined || resource === undefined) return chain;
    const path = pathOf(resource, resource.isNamespaced ? namespace : '', owner.name);
    const found = await api.get(path, {}, signal).catch(() => undefined);
    if (!isApiObject(found)) return chain;
    chain.unshift({ resource, object: found });
    child = found;
  }
  return chain;
}
