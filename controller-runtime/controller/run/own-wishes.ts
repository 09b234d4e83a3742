import { fieldChanges, ignoreNotFound, unknownKeyOf, type ApiObject } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import { cacheIdOf } from '../definition/kind-id.ts';
import { controllerOf, controllerReferenceTo } from '../definition/owner-references.ts';
import type { OwnOptions, OwnResult, Wish, WishState } from '../definition/wish.ts';
import { hasApplied, isApplied } from '../wishes/applied-fields.ts';
import { ChildrenTable, type Child } from '../wishes/children-table.ts';
import { keyIn, targetIn, type CacheView } from './cache-view.ts';
import { formatOrder, orderAnnotation, orderIdOf } from '../wishes/creation-order.ts';
import { dependentKey } from './ensure-dependent.ts';
import { pruneChildren, type Pruned } from './prune-children.ts';
import type { RelatedObjects } from './related-objects.ts';
import { toJson } from '../../client/to-json.ts';
import { wishOrder } from '../wishes/wish-order.ts';

export interface OwnParts {
  readonly client: Client;
  readonly view: CacheView;
  readonly related: RelatedObjects;
  /** The object of the run, which owns the dependents. */
  readonly object: ApiObject;
  /** The field manager with which the wishes are applied. It becomes the owner of each applied field. */
  readonly manager: string;
}

const optionKeys: readonly string[] = ['dryRun'] satisfies readonly (keyof OwnOptions)[];

/** A wish, the object to apply for it, and the existing object of the same name, if there is one. */
interface Placed {
  readonly wish: Wish;
  /**
   * The fields to be applied: those of the wish, and, if the wish has `after`, the annotation that names the objects
   * after which the object is created.
   */
  readonly object: Wish['object'];
  readonly present: ApiObject | undefined;
}

type States = ReadonlyMap<string, WishState>;

/**
 * Makes the dependents of an object equal to the wishes. Creates and changes dependents by server-side apply, in the
 * order that the option `after` of the wishes requires. Deletes, in the reverse order, the dependents that this field
 * manager applied before and that are no longer wished. Sends no request for an object that already has all wished
 * fields. Rejects with TypeError for wishes that contradict each other.
 */
export async function ownWishes(
  parts: OwnParts,
  wishes: readonly Wish[],
  options: OwnOptions | undefined,
): Promise<OwnResult> {
  const unknown = options === undefined ? undefined : unknownKeyOf(options, optionKeys);
  if (unknown !== undefined) throw new TypeError(`own: ${unknown}`);
  const dryRun = options?.dryRun === true;
  const batches = hasOrder(wishes) ? wishOrder(wishes) : undefined;
  const table = new ChildrenTable(parts.related.allChildren(parts.object), parts.object);
  // All objects are looked up first, so that a mistake in any wish is found before the first write.
  const known = wishes.map((wish) => table.take(wish) ?? foundElsewhere(parts, wish));
  const isFetched = wishes.some((wish, index) => known[index] === undefined && isSelective(parts, wish));
  const present = isFetched ? await fetchUnknown(parts, wishes, known) : known;
  const placing = { wishes, present, dryRun };
  const states = batches === undefined ? ownAtOnce(parts, placing) : ownInOrder(parts, placing, batches);
  const listed = states instanceof Promise ? await states : states;
  const leaving = leavingOf(parts, table);
  const pruned = leaving.length === 0 ? nothingPruned : await prune(parts, leaving, { dryRun, listed });
  return { ready: areReady(listed), states: listed, pruned: pruned.pruned, leaving: pruned.leaving };
}

interface Placing {
  readonly wishes: readonly Wish[];
  /** The existing objects, in the order of the wishes; undefined for an object that does not exist. */
  readonly present: readonly (ApiObject | undefined)[];
  readonly dryRun: boolean;
}

const noStates: States = new Map();

interface Missing {
  readonly index: number;
  readonly placed: Placed;
}

/**
 * Returns the states of the wishes: as a promise when something must be written, otherwise directly, because most runs
 * need no write.
 */
function ownAtOnce(parts: OwnParts, { wishes, present, dryRun }: Placing): WishState[] | Promise<WishState[]> {
  const granting = { dryRun, states: noStates };
  const states: WishState[] = [];
  const missing: Missing[] = [];
  for (const [index, wish] of wishes.entries()) {
    const placed = { wish, object: wish.object, present: present[index] };
    const state = stateWithoutWrite(parts, placed, granting);
    if (state === undefined) missing.push({ index, placed });
    else states[index] = state;
  }
  if (missing.length === 0) return states;
  const write = async ({ index, placed }: Missing): Promise<void> => {
    states[index] = await writeWish(parts, placed, granting);
  };
  return Promise.all(missing.map(write)).then(() => states);
}

async function ownInOrder(
  parts: OwnParts,
  { wishes, present, dryRun }: Placing,
  batches: readonly (readonly Wish[])[],
): Promise<WishState[]> {
  const byId = new Map(wishes.map((wish) => [wish.id, wish]));
  const placed = new Map<string, Placed>();
  for (const [index, wish] of wishes.entries()) {
    const object = wish.after.length === 0 ? wish.object : inOrder(parts, wish, byId);
    placed.set(wish.id, { wish, object, present: present[index] });
  }
  const states = new Map<string, WishState>();
  for (const batch of batches) {
    const missing: Placed[] = [];
    for (const each of batch.flatMap(({ id }) => placed.get(id) ?? [])) {
      const state = stateWithoutWrite(parts, each, { dryRun, states });
      if (state === undefined) missing.push(each);
      else states.set(state.id, state);
    }
    const written = await Promise.all(missing.map((each) => writeWish(parts, each, { dryRun, states })));
    for (const state of written) states.set(state.id, state);
  }
  return wishes.flatMap(({ id }) => states.get(id) ?? []);
}

function hasOrder(wishes: readonly Wish[]): boolean {
  for (const { after } of wishes) if (after.length > 0) return true;
  return false;
}

function areReady(states: readonly WishState[]): boolean {
  for (const { ready } of states) if (!ready) return false;
  return true;
}

/** Returns the fields of a wish, with an annotation that names the objects after which this object is created. */
function inOrder(
  { manager, object: owner }: OwnParts,
  { object, after }: Wish,
  byId: ReadonlyMap<string, Wish>,
): Wish['object'] {
  const ids = after
    .flatMap((id) => byId.get(id) ?? [])
    .map(({ model, object: { metadata } }) => orderIdOf(model, dependentKey(model, keyIn(metadata), owner)));
  const annotations = { ...object.metadata.annotations, [orderAnnotation(manager)]: formatOrder(ids) };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

interface Granting {
  readonly dryRun: boolean;
  /**
   * The states, by id, of the wishes that this run has already handled. Another wish may have to wait until some of
   * these wishes are ready.
   */
  readonly states: States;
}

/**
 * Returns the state of a wish that needs no write, or has to wait; undefined when it needs a write. Also undefined in a
 * dry run for a wish that has to wait before its write, because a dry run returns the changes of such a write.
 */
function stateWithoutWrite(parts: OwnParts, placed: Placed, granting: Granting): WishState | undefined {
  const { wish, present, object } = placed;
  const { id } = wish;
  const { dryRun } = granting;
  const waitsFor = waitedFor(placed, granting);
  if (waitsFor !== undefined && !dryRun) {
    return { id, state: 'waiting', ready: false, waitsFor, ...(present && { object: present }) };
  }
  if (present === undefined || !isGranted(parts, object, present)) return undefined;
  if (!dryRun) return { id, state: 'unchanged', ready: wish.isReady(present), object: present };
  if (waitsFor !== undefined) return { id, state: 'waiting', ready: false, waitsFor, object: present, changes: [] };
  return { id, state: 'unchanged', ready: wish.isReady(present), object: present, changes: [] };
}

/**
 * Looks for an object with the name of a wish that has no dependent yet. Returns undefined when there is no such
 * object. Throws when the object may not become a dependent.
 */
function foundElsewhere(parts: OwnParts, wish: Wish): ApiObject | undefined {
  const { model, object } = wish;
  const present = parts.view.read(targetIn(model, dependentKey(model, keyIn(object.metadata), parts.object)));
  if (present !== undefined) checkOwner(parts, wish, present);
  return present;
}

/** True when the cache of the wish's kind keeps only some objects, so that it may lack an existing object. */
function isSelective({ view }: OwnParts, { model }: Wish): boolean {
  return view.isSelective(cacheIdOf(model));
}

/**
 * Returns the existing objects of the wishes. If an object is not in `known`, and the cache of its kind keeps only some
 * objects, reads the object from the server. Without this read, an apply would take over an object of another owner
 * without an error. Rejects when an object may not become a dependent.
 */
function fetchUnknown(
  parts: OwnParts,
  wishes: readonly Wish[],
  known: readonly (ApiObject | undefined)[],
): Promise<readonly (ApiObject | undefined)[]> {
  const fetchOne = async (wish: Wish, found: ApiObject | undefined): Promise<ApiObject | undefined> => {
    if (found !== undefined || !isSelective(parts, wish)) return found;
    const { name, ...place } = dependentKey(wish.model, keyIn(wish.object.metadata), parts.object);
    const present = await parts.client.get(wish.model, name, place).catch(ignoreNotFound);
    if (present !== undefined) checkOwner(parts, wish, present);
    return present;
  };
  return Promise.all(wishes.map((wish, index) => fetchOne(wish, known[index])));
}

/**
 * Returns what a wish waits for: the ids of other wishes and, while its existing object is being deleted, the text `the
 * deletion of <id>`. Returns undefined when the wish waits for nothing.
 */
function waitedFor({ wish: { id, after }, present }: Placed, { states }: Granting): readonly string[] | undefined {
  const isLeaving = present?.metadata.deletionTimestamp !== undefined;
  if (after.length === 0 && !isLeaving) return undefined;
  const waitsFor = after.filter((other) => states.get(other)?.ready !== true);
  if (isLeaving) waitsFor.push(`the deletion of ${id}`);
  return waitsFor.length === 0 ? undefined : waitsFor;
}

async function writeWish(parts: OwnParts, placed: Placed, granting: Granting): Promise<WishState> {
  const { wish, present } = placed;
  const { id } = wish;
  const { dryRun } = granting;
  const object = await applyWish(parts, placed, dryRun);
  const state = present === undefined ? 'created' : isSameState(present, object, dryRun) ? 'unchanged' : 'updated';
  if (!dryRun) return { id, state, ready: wish.isReady(object), object };
  const changes = fieldChanges(present, object);
  const waitsFor = waitedFor(placed, granting);
  if (waitsFor === undefined) return { id, state, ready: wish.isReady(object), object, changes };
  return { id, state: 'waiting', ready: false, waitsFor, changes, ...(present && { object: present }) };
}

function checkOwner({ object: owner }: OwnParts, { model, object, adopt }: Wish, present: ApiObject): void {
  const controller = controllerOf(present);
  if (controller?.uid === owner.metadata.uid) return;
  const { kind } = model;
  const { name } = object.metadata;
  if (controller !== undefined) {
    throw new Error(`own: ${kind} "${name}" is controlled by ${controller.kind} "${controller.name}"`);
  }
  if (adopt) return;
  const cure = 'delete it, or set the option "adopt" of the wish to take it over';
  throw new Error(
    `own: ${kind} "${name}" exists, and ${owner.kind} "${owner.metadata.name}" does not control it: ${cure}`,
  );
}

/**
 * True when the owner controls the object, and the object already has all wished fields. The wish is first compared
 * without a conversion. Only a wish that differs is converted to JSON and compared again, because the conversion costs
 * more than all the rest.
 */
function isGranted({ object: owner, manager }: OwnParts, object: Wish['object'], present: ApiObject): boolean {
  if (controllerOf(present)?.uid !== owner.metadata.uid) return false;
  return isApplied(present, object, manager) || isApplied(present, toJson(object), manager);
}

function applyWish({ client, object: owner, manager }: OwnParts, placed: Placed, dryRun: boolean): Promise<ApiObject> {
  const { wish, present } = placed;
  const key = dependentKey(wish.model, keyIn(wish.object.metadata), owner);
  const object = toJson(placed.object);
  const uid = present === undefined ? {} : { uid: present.metadata.uid };
  const metadata = { ...object.metadata, ...key, ...uid, ownerReferences: [controllerReferenceTo(owner)] };
  const namespace = key.namespace === undefined ? {} : { namespace: key.namespace };
  const options = { fieldManager: manager, force: true, dryRun, ...namespace };
  return client.apply(wish.model, { ...object, metadata }, options);
}

/** True when a write changed nothing. A dry run has no new revision, so its result is compared by content. */
function isSameState(before: ApiObject, after: ApiObject, dryRun: boolean): boolean {
  if (dryRun) return fieldChanges(before, after).length === 0;
  return before.metadata.resourceVersion === after.metadata.resourceVersion;
}

const nothingPruned = { pruned: [], leaving: [] } as const;

/**
 * Returns the dependents that are no longer wished. Leaves out objects without fields that this field manager applied,
 * because others made these objects.
 */
function leavingOf({ manager }: OwnParts, table: ChildrenTable): readonly Child[] {
  const rest = table.rest();
  return rest.length === 0 ? rest : rest.filter(({ object }) => hasApplied(object, manager));
}

interface Pruning {
  readonly dryRun: boolean;
  readonly listed: readonly WishState[];
}

function prune({ client, manager }: OwnParts, leaving: readonly Child[], { dryRun, listed }: Pruning): Promise<Pruned> {
  const wished = listed.flatMap(({ object }) => object ?? []);
  return pruneChildren({ client, manager, wished, dryRun }, leaving);
}
