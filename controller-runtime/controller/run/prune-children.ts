import { ignoreNotFound, type ApiObject } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import type { OwnResult } from '../definition/wish.ts';
import { createdAfter, orderIdOfObject } from '../wishes/creation-order.ts';
import type { Child } from '../wishes/children-table.ts';

export interface PruneParts {
  readonly client: Client;
  readonly manager: string;
  /** The wished dependents, in their newest known state. */
  readonly wished: readonly ApiObject[];
  readonly dryRun: boolean;
}

export type Pruned = Pick<OwnResult, 'pruned' | 'leaving'>;

/**
 * Deletes dependents that are no longer wished. A dependent is deleted only when all dependents that were created after
 * it, even wished ones, are gone. A dependent without finalizers is gone as soon as it is deleted, so one call deletes
 * most chains of dependents.
 */
export async function pruneChildren(parts: PruneParts, unwished: readonly Child[]): Promise<Pruned> {
  const left = new Set(unwished);
  const pruned: ApiObject[] = [];
  const isDeleting = ({ object }: Child): boolean => object.metadata.deletionTimestamp !== undefined;
  if (parts.dryRun) {
    const objects = unwished.filter((child) => !isDeleting(child)).map(({ object }) => object);
    return { pruned: objects, leaving: unwished.filter(isDeleting).map(({ object }) => object) };
  }
  const deleting = new Set(unwished.filter(isDeleting));
  for (let hasLeft = true; hasLeft;) {
    const batch = nextBatch(parts, left).filter((child) => !deleting.has(child));
    const isGone = await Promise.all(batch.map((child) => deleteChild(parts, child)));
    pruned.push(...batch.map(({ object }) => object));
    for (const [index, child] of batch.entries()) {
      if (isGone[index] === true) left.delete(child);
      else deleting.add(child);
    }
    hasLeft = isGone.includes(true);
  }
  return { pruned, leaving: Array.from(left, ({ object }) => object) };
}

/**
 * Returns the dependents of `left` that can be deleted next. A dependent must wait while the annotation `created-after`
 * of another dependent lists it. If all of `left` must wait, but no wished dependent has the annotation, users have
 * edited the annotations so that the dependents of `left` wait for each other: then returns all of `left`. If all must
 * wait, and a wished dependent has the annotation, returns an empty list.
 */
function nextBatch({ manager, wished }: PruneParts, left: ReadonlySet<Child>): readonly Child[] {
  const before = new Set<string>();
  for (const object of wished) for (const id of createdAfter(object, manager)) before.add(id);
  const heldByWished = before.size;
  for (const { object } of left) for (const id of createdAfter(object, manager)) before.add(id);
  const all = [...left];
  const free = before.size === 0 ? all : all.filter(({ object }) => !before.has(orderIdOfObject(object)));
  return free.length === 0 && heldByWished === 0 ? all : free;
}

/** Deletes a dependent. Returns true when it is gone, and false when finalizers keep it. */
async function deleteChild({ client }: PruneParts, { model, object: { metadata } }: Child): Promise<boolean> {
  const { name, uid, namespace } = metadata;
  const scope = namespace === undefined ? {} : { namespace };
  const held = await client.delete(model, name, { preconditions: { uid }, ...scope }).catch(ignoreNotFound);
  return held === undefined;
}
