import { formatKey, ignoreNotFound, unknownKeyOf, type ApiObject, type ObjectKey } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import { controllerOf, controllerReferenceTo } from '../definition/owner-references.ts';
import type { OwnOptions, OwnResult, Wish, WishState } from '../definition/wish.ts';
import { hasApplied, isApplied } from './applied-fields.ts';
import { targetIn, type CacheView } from './cache-view.ts';
import { dependentKey } from './ensure-dependent.ts';
import { fieldChanges } from './field-changes.ts';
import type { RelatedObjects } from './related-objects.ts';
import { toJson } from './to-json.ts';
import { wishOrder } from './wish-order.ts';

export interface OwnParts {
  readonly client: Client;
  readonly view: CacheView;
  readonly related: RelatedObjects;
  readonly owner: ApiObject;
  /** The field manager: the owner of all fields that are applied here. */
  readonly manager: string;
}

/** A wish in the namespace of its owner, and the object that is there. */
interface Placed {
  readonly wish: Wish;
  readonly key: ObjectKey;
  readonly present: ApiObject | undefined;
}

/**
 * Makes the dependents of an object those that are wished: creates and changes by server-side apply, in the order of `after`,
 * and deletes what this manager applied before and is not wished now. Sends nothing for what is there already.
 * Rejects with TypeError for wishes that contradict each other.
 */
export async function ownWishes(
  parts: OwnParts,
  wishes: readonly Wish[],
  options: OwnOptions = {},
): Promise<OwnResult> {
  const unknown = unknownKeyOf(options, ['dryRun']);
  if (unknown !== undefined) throw new TypeError(`own: ${unknown}`);
  const { dryRun = false } = options;
  const batches = wishOrder(wishes);
  const placed = new Map<string, Placed>();
  const wishedKeys = new Set<string>();
  for (const wish of wishes) {
    const key = dependentKey(wish.model, wish.object.metadata.name, parts.owner);
    const target = targetIn(wish.model, key);
    const id = `${target.cacheId} ${formatKey(key)}`;
    if (wishedKeys.has(id)) throw new TypeError(`own: ${wish.model.kind} "${key.name}" is wished twice`);
    wishedKeys.add(id);
    placed.set(wish.id, { wish, key, present: parts.view.read(target) });
  }
  const states = new Map<string, WishState>();
  for (const batch of batches) {
    const granted = await Promise.all(batch.map((id) => grant(parts, placed.get(id) as Placed, { dryRun, states })));
    for (const state of granted) states.set(state.id, state);
  }
  const pruned = await prune(parts, wishedKeys, dryRun);
  const listed = wishes.map(({ id }) => states.get(id) as WishState);
  return { ready: listed.every(({ ready }) => ready), states: listed, pruned };
}

interface Granting {
  readonly dryRun: boolean;
  /** The states of the wishes that come before. */
  readonly states: ReadonlyMap<string, WishState>;
}

async function grant(parts: OwnParts, placed: Placed, { dryRun, states }: Granting): Promise<WishState> {
  const { wish, present } = placed;
  const { id } = wish;
  const waitsFor = wish.after.filter((other) => states.get(other)?.ready !== true);
  if (present?.metadata.deletionTimestamp !== undefined) waitsFor.push(`the deletion of ${id}`);
  const mayWrite = waitsFor.length === 0;
  if (!mayWrite && !dryRun)
    return { id, state: 'waiting', ready: false, waitsFor, ...(present && { object: present }) };
  if (present !== undefined) checkOwner(parts, placed, present);
  if (present !== undefined && isGranted(parts, wish, present)) {
    const changes = dryRun ? { changes: [] } : {};
    return { id, state: 'unchanged', ready: wish.isReady(present), object: present, ...changes };
  }
  const object = await applyWish(parts, placed, dryRun);
  const state = present === undefined ? 'created' : isSameState(present, object, dryRun) ? 'unchanged' : 'updated';
  if (!dryRun) return { id, state, ready: wish.isReady(object), object };
  const changes = fieldChanges(present, object);
  if (mayWrite) return { id, state, ready: wish.isReady(object), object, changes };
  return { id, state: 'waiting', ready: false, waitsFor, changes, ...(present && { object: present }) };
}

function checkOwner({ owner }: OwnParts, { wish, key }: Placed, present: ApiObject): void {
  const controller = controllerOf(present);
  if (controller?.uid === owner.metadata.uid) return;
  const { kind } = wish.model;
  if (controller !== undefined) {
    throw new Error(`own: ${kind} "${key.name}" is controlled by ${controller.kind} "${controller.name}"`);
  }
  if (wish.adopt) return;
  const cure = 'delete it, or take it over by the option "adopt" of the wish';
  throw new Error(
    `own: ${kind} "${key.name}" exists, and ${owner.kind} "${owner.metadata.name}" does not control it: ${cure}`,
  );
}

/** Compared as it was given first; as JSON only when that differs, because making JSON of it costs more than the rest. */
function isGranted({ owner, manager }: OwnParts, { object }: Wish, present: ApiObject): boolean {
  if (controllerOf(present)?.uid !== owner.metadata.uid) return false;
  return isApplied(present, object, manager) || isApplied(present, toJson(object) as object, manager);
}

function applyWish({ client, owner, manager }: OwnParts, placed: Placed, dryRun: boolean): Promise<ApiObject> {
  const { wish, key, present } = placed;
  const object = toJson(wish.object) as Wish['object'];
  const uid = present === undefined ? {} : { uid: present.metadata.uid };
  const metadata = { ...object.metadata, ...key, ...uid, ownerReferences: [controllerReferenceTo(owner)] };
  const namespace = key.namespace === undefined ? {} : { namespace: key.namespace };
  const options = { fieldManager: manager, force: true, dryRun, ...namespace };
  return client.apply(wish.model, { ...object, metadata }, options);
}

/** A dry run makes no revision. */
function isSameState(before: ApiObject, after: ApiObject, dryRun: boolean): boolean {
  if (dryRun) return fieldChanges(before, after).length === 0;
  return before.metadata.resourceVersion === after.metadata.resourceVersion;
}

/** Objects without fields that this manager applied were made by others, and stay. */
async function prune(
  { client, related, owner, manager }: OwnParts,
  wishedKeys: ReadonlySet<string>,
  dryRun: boolean,
): Promise<readonly ApiObject[]> {
  const unwished = related.allChildren(owner).filter(({ cacheId, object }) => {
    const { name, namespace, deletionTimestamp } = object.metadata;
    const id = `${cacheId} ${formatKey(namespace === undefined ? { name } : { name, namespace })}`;
    return !wishedKeys.has(id) && deletionTimestamp === undefined && hasApplied(object, manager);
  });
  if (dryRun) return unwished.map(({ object }) => object);
  await Promise.all(
    unwished.map(({ model, object: { metadata } }) => {
      const { name, uid, namespace } = metadata;
      const scope = namespace === undefined ? {} : { namespace };
      return client.delete(model, name, { preconditions: { uid }, ...scope }).catch(ignoreNotFound);
    }),
  );
  return unwished.map(({ object }) => object);
}
