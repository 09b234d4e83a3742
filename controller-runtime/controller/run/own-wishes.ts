import { formatKey, ignoreNotFound, keyOf, unknownKeyOf, type ApiObject, type ObjectKey } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import { cacheIdOf } from '../definition/kind-id.ts';
import { controllerOf, controllerReferenceTo } from '../definition/owner-references.ts';
import type { OwnOptions, OwnResult, Wish, WishState } from '../definition/wish.ts';
import { hasApplied, isApplied } from './applied-fields.ts';
import { targetIn, type CacheView } from './cache-view.ts';
import { dependentKey } from './ensure-dependent.ts';
import { fieldChanges } from './field-changes.ts';
import type { Child, RelatedObjects } from './related-objects.ts';
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

const optionKeys: readonly string[] = ['dryRun'] satisfies readonly (keyof OwnOptions)[];

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
  const unknown = unknownKeyOf(options, optionKeys);
  if (unknown !== undefined) throw new TypeError(`own: ${unknown}`);
  const { dryRun = false } = options;
  const batches = wishOrder(wishes);
  const unwished = childrenById(parts);
  const placed = placeWishes(parts, wishes, unwished);
  const states = new Map<string, WishState>();
  for (const batch of batches) {
    const writes: Promise<WishState>[] = [];
    for (const { id } of batch) {
      const state = stateOrWrite(parts, placed.get(id) as Placed, { dryRun, states });
      if (state instanceof Promise) writes.push(state);
      else states.set(id, state);
    }
    if (writes.length > 0) for (const state of await Promise.all(writes)) states.set(state.id, state);
  }
  const pruned = prunedOf(parts, unwished);
  if (pruned.length > 0 && !dryRun) await Promise.all(pruned.map((child) => deleteChild(parts, child)));
  const listed = wishes.map(({ id }) => states.get(id) as WishState);
  return { ready: listed.every(({ ready }) => ready), states: listed, pruned: pruned.map(({ object }) => object) };
}

/** Returns the dependents that are there, by cache and key. */
function childrenById({ related, owner }: OwnParts): Map<string, Child> {
  const children = new Map<string, Child>();
  for (const child of related.allChildren(owner))
    children.set(`${child.cacheId} ${formatKey(keyOf(child.object))}`, child);
  return children;
}

/** Finds the object of each wish, and takes it out of `children`. */
function placeWishes(
  parts: OwnParts,
  wishes: readonly Wish[],
  children: Map<string, Child>,
): ReadonlyMap<string, Placed> {
  const placed = new Map<string, Placed>();
  const wished = new Set<string>();
  for (const wish of wishes) {
    const key = dependentKey(wish.model, wish.object.metadata.name, parts.owner);
    const id = `${cacheIdOf(wish.model)} ${formatKey(key)}`;
    if (wished.has(id)) throw new TypeError(`own: ${wish.model.kind} "${key.name}" is wished twice`);
    wished.add(id);
    const present = children.get(id)?.object ?? parts.view.read(targetIn(wish.model, key));
    children.delete(id);
    placed.set(wish.id, { wish, key, present });
  }
  return placed;
}

interface Granting {
  readonly dryRun: boolean;
  /** The states of the wishes that come before. */
  readonly states: ReadonlyMap<string, WishState>;
}

/** Returns the state of a wish that needs no write, and the promise of the write otherwise. */
function stateOrWrite(parts: OwnParts, placed: Placed, granting: Granting): WishState | Promise<WishState> {
  const { wish, present } = placed;
  const { id } = wish;
  const { dryRun, states } = granting;
  const waitsFor = wish.after.filter((other) => states.get(other)?.ready !== true);
  if (present?.metadata.deletionTimestamp !== undefined) waitsFor.push(`the deletion of ${id}`);
  if (waitsFor.length > 0 && !dryRun) {
    return { id, state: 'waiting', ready: false, waitsFor, ...(present && { object: present }) };
  }
  if (present !== undefined) {
    checkOwner(parts, placed, present);
    if (isGranted(parts, wish, present)) {
      const state = { id, state: 'unchanged', ready: wish.isReady(present), object: present } as const;
      return dryRun ? { ...state, changes: [] } : state;
    }
  }
  return writeWish(parts, placed, { dryRun, waitsFor });
}

interface Writing {
  readonly dryRun: boolean;
  /** Not empty in a dry run alone. */
  readonly waitsFor: readonly string[];
}

async function writeWish(parts: OwnParts, placed: Placed, { dryRun, waitsFor }: Writing): Promise<WishState> {
  const { wish, present } = placed;
  const { id } = wish;
  const object = await applyWish(parts, placed, dryRun);
  const state = present === undefined ? 'created' : isSameState(present, object, dryRun) ? 'unchanged' : 'updated';
  if (!dryRun) return { id, state, ready: wish.isReady(object), object };
  const changes = fieldChanges(present, object);
  if (waitsFor.length === 0) return { id, state, ready: wish.isReady(object), object, changes };
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
function prunedOf({ manager }: OwnParts, unwished: ReadonlyMap<string, Child>): readonly Child[] {
  if (unwished.size === 0) return [];
  return [...unwished.values()].filter(
    ({ object }) => object.metadata.deletionTimestamp === undefined && hasApplied(object, manager),
  );
}

async function deleteChild({ client }: OwnParts, { model, object: { metadata } }: Child): Promise<void> {
  const { name, uid, namespace } = metadata;
  const scope = namespace === undefined ? {} : { namespace };
  await client.delete(model, name, { preconditions: { uid }, ...scope }).catch(ignoreNotFound);
}
