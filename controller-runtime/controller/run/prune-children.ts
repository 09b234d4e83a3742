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
 * returns all of `left` that no wished dependent lists.
 */
function nextBatch({ manager, wished }: PruneParts, left: ReadonlySet<Child>): readonly Child[] {
  const beforeWished = new Set(wished.flatMap((object) => createdAfter(object, manager)));
  const beforeLeft = new Set(Array.from(left, ({ object }) => createdAfter(object, manager)).flat());
  const unheld = [...left].filter(({ object }) => !beforeWished.has(orderIdOfObject(object)));
  const free = unheld.filter(({ object }) => !beforeLeft.has(orderIdOfObject(object)));
  return free.length === 0 ? unheld : free;
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
