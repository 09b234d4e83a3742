import type { KindCache } from '../../index/kind-cache.ts';
import { runInTurns } from '../../turns/steps.ts';
import type { Store } from '../../store/store.ts';

/** An error for a kind that cannot be served with its indexes. None of its objects is served. */
export class IndexBuildError extends Error {
  override readonly name = 'IndexBuildError';
}

/**
 * Rejects with IndexBuildError when two objects have the same value in a unique index. The message names the index, the
 * value and the objects.
 */
export async function checkUnique(cache: KindCache): Promise<void> {
  const found = await runInTurns(cache.duplicate());
  if (found === undefined) return;
  const [first, second] = found.keys;
  const value = JSON.stringify(found.value);
  throw new IndexBuildError(
    `index ${found.index} of ${cache.descriptor.kind} is unique, but "${first}" and "${second}" both have ${value}`,
  );
}

/**
 * Returns the numbers that identify the unique indexes in the store, by the names of the indexes. A new index gets its
 * number here. The index `metadata.name` has no number.
 */
export async function numberIndexes(cache: KindCache, store: Store): Promise<Map<string, number>> {
  const { group, plural } = cache.descriptor;
  const numbers = new Map<string, number>();
  for (const { spec } of cache.indexes) {
    if (!spec.unique || spec.name === 'metadata.name') continue;
    numbers.set(spec.name, await store.numberOf(`index:${group}/${plural}/${spec.name}`));
  }
  return numbers;
}
