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
 * Deletes dependents that are no longer wished. A dependent must wait while another dependent, wished or not, lists it
 * in the annotation `created-after`. A dependent without finalizers is gone as soon as it is deleted, so one call
 * deletes most chains of dependents.
 */
export async function pruneChildren(parts: PruneParts, unwished: readonly Child[]): Promise<Pruned> {
  const left = new Set(unwished);
  const pruned: ApiObject[] = [];
  const isDeleting = ({ object }: Child): boolean => object.metadata.deletionTimestamp !== undefined;
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
 * of another dependent lists it. If users have edited the annotations so that dependents of `left` wait for each other,
 * returns all of `left` except those that wait for a wished dependent, directly or through other dependents.
 */
function nextBatch({ manager, wished }: PruneParts, left: ReadonlySet<Child>): readonly Child[] {
  if (left.size === 0) return [];
  const byId = new Map(Array.from(left, (child) => [orderIdOfObject(child.object), child]));
  const held = new Set(wished.flatMap((object) => createdAfter(object, manager)));
  // The loop adds ids to the set over which it iterates: dependents that a held one lists are held, too.
  for (const id of held) {
    const child = byId.get(id);
    for (const before of child === undefined ? [] : createdAfter(child.object, manager)) held.add(before);
  }
  const unheld = Array.from(byId).filter(([id]) => !held.has(id));
  const listed = new Set(unheld.flatMap(([, { object }]) => createdAfter(object, manager)));
  const free = unheld.filter(([id]) => !listed.has(id));
  return (free.length === 0 ? unheld : free).map(([, child]) => child);
}

/**
 * Deletes a dependent; a dry run deletes nothing. Returns true when the dependent is gone, or would be gone, and false
 * when finalizers keep it.
 */
async function deleteChild({ client, dryRun }: PruneParts, { model, object: { metadata } }: Child): Promise<boolean> {
  const { name, uid, namespace, finalizers = [] } = metadata;
  if (dryRun) return finalizers.length === 0;
  const scope = namespace === undefined ? {} : { namespace };
  const held = await client.delete(model, name, { preconditions: { uid }, ...scope }).catch(ignoreNotFound);
  return held === undefined;
}
