import type { KindCache } from '../../index/kind-cache.ts';
import { runInTurns } from '../../turns/steps.ts';
import type { Store } from '../../store/store.ts';

/** The kind cannot be served with these indexes; nothing of it has been registered. */
export class IndexBuildError extends Error {
  override readonly name = 'IndexBuildError';
}

/** Rejects with IndexBuildError, naming the index, the value and two objects that have it. */
export async function checkUnique(cache: KindCache): Promise<void> {
  const found = await runInTurns(cache.duplicate());
  if (found === undefined) return;
  const [first, second] = found.keys;
  const value = JSON.stringify(found.value);
  throw new IndexBuildError(
    `index ${found.index} of ${cache.descriptor.kind} is unique, but "${first}" and "${second}" both have ${value}`,
  );
}

/** The store's numbers of the unique indexes, by name. */
export async function numberIndexes(cache: KindCache, store: Store): Promise<Map<string, number>> {
  const { group, plural } = cache.descriptor;
  const numbers = new Map<string, number>();
  for (const { spec } of cache.indexes) {
    if (!spec.unique || spec.name === 'metadata.name') continue;
    numbers.set(spec.name, await store.numberOf(`index:${group}/${plural}/${spec.name}`));
  }
  return numbers;
}
