import type { Condition } from './condition.ts';
import type { KindCache } from '../kind-cache.ts';
import type { Query } from './query.ts';

/**
 * The maximum number of objects of a kind for which a query itself builds its missing indexes, in one turn. The turn
 * then takes some milliseconds.
 */
const preparedAtOnce = 2_000;

/**
 * Builds the indexes that a query of a large kind needs, in many turns of the event loop. Resolves when the query can
 * run without building an index. Returns undefined when these indexes are already built, or when the kind is small.
 */
export function prepareQuery(cache: KindCache, query: Query): Promise<void> | undefined {
  if (cache.size <= preparedAtOnce) return undefined;
  const first = nextMissing(query);
  return first === undefined ? undefined : prepareRest(query, first);
}

async function prepareRest(query: Query, first: Promise<void>): Promise<void> {
  // All indexes are checked again after each build, because an index may be replaced while another one is built.
  for (let missing: Promise<void> | undefined = first; missing !== undefined; missing = nextMissing(query))
    await missing;
}

function nextMissing({ conditions, order }: Query): Promise<void> | undefined {
  for (const condition of conditions) {
    const missing = prepareCondition(condition);
    if (missing !== undefined) return missing;
  }
  for (const { index, descending } of order) {
    const missing = index.prepareSort(descending);
    if (missing !== undefined) return missing;
  }
  return undefined;
}

function prepareCondition({ index, test, negated }: Condition): Promise<void> | undefined {
  const isListed = test.kind === 'listed' && !index.spec.indexFunc.multiValued;
  return index.prepareCondition({ absent: negated && (test.kind === 'any' || isListed), order: test.kind === 'any' });
}
