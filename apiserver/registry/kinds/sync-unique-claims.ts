import { ApiError, isApiError } from '@homeostat/controller-runtime/api';
import { runInTurns } from '../../turns/steps.ts';
import { claimDifference } from '../../store/claim-difference.ts';
import type { KindClaims, Store, StoredClaims } from '../../store/store.ts';
import { checkUnique } from './index-build.ts';
import { resourceName } from '../object/resource-errors.ts';
import type { Resource } from './resource.ts';
import type { Revisions } from '../history/revisions.ts';

export interface SyncParts {
  readonly store: Store;
  readonly revisions: Revisions;
  /**
   * Applies the kind's changes up to the revision `upTo` to the objects and indexes of the resource. This process must
   * already have received all changes up to `upTo`.
   */
  readonly replay: (upTo: number) => void;
  /**
   * Returns true when changes since the kind began to open were dropped from memory or compacted, so that the kind's
   * objects have to be read again.
   */
  readonly isLost: () => boolean;
  /**
   * The generation of unique indexes at which the claims in the store were last known to be right; undefined when no
   * such generation is known. When the store still has this generation, and has the same unique indexes as the
   * resource, its claims are not compared with the values of the objects.
   */
  readonly generation: number | undefined;
}

/**
 * Makes the unique indexes and claims of a kind in the store equal to those of the {@link Resource}. In a store that
 * other processes share, also sets `generation` of the resource: the generation of the store's unique indexes, which
 * each write of the resource requires. In such a store, the claims are usually equal already, so they are first
 * compared without blocking the writes of other processes. Resolves with false when {@link SyncParts.isLost} returns
 * true: the caller must then read the kind's objects again. Rejects with IndexBuildError when two objects have the same
 * value.
 */
export async function syncUniqueClaims(resource: Resource, parts: SyncParts): Promise<boolean> {
  const { store, revisions, replay, isLost, generation } = parts;
  if (generation !== undefined) {
    const stored = await store.uniqueIndexes(resource.kindNumber);
    if (stored.generation === generation && resource.hasIndexes(stored.indexes)) return true;
  }
  for (;;) {
    // The claims of the store and of the resource can be compared only at the same revision. So the resource first gets
    // the changes up to the store's revision.
    const stored = store.isShared ? await store.claims(resource.kindNumber) : undefined;
    if (stored !== undefined) await arrive(stored.revision, { store, revisions });
    if (isLost()) return false;
    const revision = stored?.revision ?? revisions.current;
    replay(revision);
    await checkUnique(resource.cache);
    const wanted = await runInTurns(resource.claims());
    if (stored !== undefined && (await areEqual(stored, wanted))) {
      resource.generation = stored.generation;
      return true;
    }
    const outcome = await store.setClaims(resource.kindNumber, { ...wanted, revision });
    if (isLost()) return false;
    if ('generation' in outcome) {
      if (store.isShared) resource.generation = outcome.generation;
      return true;
    }
    // Other processes have written since the claims were collected, so the loop repeats. The call of `setClaims` has
    // stored the indexes, so from now on only processes with the same indexes can write.
  }
}

/**
 * Waits until memory has a revision. No client waits for this, so there is no timeout; closing the store ends the wait.
 */
async function arrive(revision: number, { store, revisions }: Pick<SyncParts, 'store' | 'revisions'>): Promise<void> {
  while (revision > revisions.current) {
    try {
      await revisions.reach(String(revision));
    } catch (error) {
      if (!isApiError(error) || error.reason !== 'Timeout') throw error;
      await store.currentRevision();
    }
  }
}

async function areEqual(stored: StoredClaims, { indexes, claims }: Omit<KindClaims, 'revision'>): Promise<boolean> {
  if (stored.indexes.join() !== indexes.join()) return false;
  const { set, drop } = await runInTurns(claimDifference(stored.claims, claims));
  return set.length + drop.length === 0;
}

/**
 * Handles a write that the store refused because of its generation: another process has changed the kind's unique
 * indexes. When this process has the same indexes, resolves, and the resource writes with the new generation. When they
 * differ, rejects with ApiError ServiceUnavailable, and the resource refuses all further writes, because they would
 * lack claims.
 */
export function adoptGeneration(resource: Resource, store: Store): Promise<void> {
  const underWay = adoptions.get(resource);
  if (underWay !== undefined) return underWay;
  const adoption = adopt(resource, store).finally(() => adoptions.delete(resource));
  adoptions.set(resource, adoption);
  return adoption;
}

/**
 * The running calls of {@link adoptGeneration}, by resource. When the store refuses a whole batch of writes, all of
 * them share one request for the generation.
 */
const adoptions = new WeakMap<Resource, Promise<void>>();

async function adopt(resource: Resource, store: Store): Promise<void> {
  const { generation, indexes } = await store.uniqueIndexes(resource.kindNumber);
  if (!resource.hasIndexes(indexes)) {
    const message = `${resourceName(resource.model)} has other unique indexes at another replica; restart this replica with the same indexes`;
    const refusal = new ApiError('ServiceUnavailable', message);
    resource.refuseWrites(refusal);
    throw refusal;
  }
  resource.generation = generation;
}
