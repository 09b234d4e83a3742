import type { Requirement, Selector } from '@homeostat/controller-runtime/api';
import { ApiError } from '@homeostat/controller-runtime/api';
import type { Condition } from './condition.ts';
import { isMet } from './condition.ts';
import type { Entry } from '../entry.ts';
import type { KindCache } from '../kind-cache.ts';
import type { KindIndex } from '../kind-index.ts';
import { labelCondition } from './label-condition.ts';

export interface SortRequest {
  readonly field: string;
  /** The direction of the sort. Default: the direction that the index declares (`IndexSpec.order`). */
  readonly direction?: 'asc' | 'desc';
}

export interface QueryOptions {
  readonly labelSelector?: Selector;
  /** The selector of fields, with the literals as the client wrote them. */
  readonly fieldSelector?: Selector;
  /** Selects only objects of this namespace. */
  readonly namespace?: string;
  /** The keys of the sort, the most significant one first. Default: the newest objects first. */
  readonly sort?: readonly SortRequest[];
}

export interface SortKey {
  readonly index: KindIndex;
  readonly descending: boolean;
}

/** A selection and its order. It was checked against the indexes of one cache, and is valid only for this cache. */
export interface Query {
  /** The conditions, all of which an object must meet. */
  readonly conditions: readonly Condition[];
  /** The sort keys, at least one. */
  readonly order: readonly SortKey[];
  /** True when the query cannot select any object. */
  readonly isEmpty: boolean;
  /**
   * A text that is equal for requests with the same requirements, in any order, and the same sort. A continue token is
   * valid only for requests with the same text.
   */
  readonly canonical: string;
}

const shortNames: ReadonlyMap<string, string> = new Map([
  ['name', 'metadata.name'],
  ['creationTimestamp', 'metadata.creationTimestamp'],
]);

const newestFirst: readonly SortRequest[] = [{ field: 'metadata.creationTimestamp', direction: 'desc' }];

/**
 * Compiles a query for a cache. Throws ApiError BadRequest for a field without an index, with a message that names the
 * field and lists the indexed fields. Throws it also for a literal that is not valid for the index, for `>` or `<` in a
 * field selector, and for `>` or `<` in a label selector with a literal that is not a whole number from 0 to 2^63-1.
 */
export function compileQuery(cache: KindCache, options: QueryOptions): Query {
  const { labelSelector = [], fieldSelector = [], namespace, sort = [] } = options;
  const inNamespace: Selector =
    namespace === undefined ? [] : [{ key: 'metadata.namespace', operator: 'in', values: [namespace] }];
  const fields = [...inNamespace, ...fieldSelector].map((requirement) => fieldCondition(cache, requirement));
  const labels = labelSelector.map((requirement) => labelCondition(indexOf(cache, 'metadata.labels'), requirement));
  return new CompiledQuery(cache, options, {
    conditions: [...fields, ...labels].filter((condition) => typeof condition !== 'string'),
    order: (sort.length === 0 ? newestFirst : sort).map((request) => sortKey(cache, request)),
    isEmpty: fields.includes('none'),
  });
}

class CompiledQuery implements Query {
  readonly conditions: Query['conditions'];
  readonly order: Query['order'];
  readonly isEmpty: boolean;
  readonly #cache: KindCache;
  readonly #options: QueryOptions;

  constructor(cache: KindCache, options: QueryOptions, compiled: Omit<Query, 'canonical'>) {
    this.conditions = compiled.conditions;
    this.order = compiled.order;
    this.isEmpty = compiled.isEmpty;
    this.#cache = cache;
    this.#options = options;
  }

  /** The canonical text is created only when it is read, because most queries do not need it. */
  get canonical(): string {
    const { group, plural } = this.#cache.descriptor;
    const { labelSelector = [], fieldSelector = [], namespace, sort = [] } = this.#options;
    return JSON.stringify([group, plural, namespace ?? null, inOrder(labelSelector), inOrder(fieldSelector), sort]);
  }
}

/** Returns the requirements, each as JSON, in the order of their texts. */
function inOrder(selector: Selector): readonly string[] {
  return selector
    .map(({ key, operator, values }) => JSON.stringify([key, operator, ...[...new Set(values)].sort()]))
    .sort();
}

/** True when the query selects an entry. The entry may be a former state of its object. */
export function matches(query: Query, entry: Entry): boolean {
  if (query.isEmpty) return false;
  for (const condition of query.conditions) {
    if (!isMet(condition, entry)) return false;
  }
  return true;
}

function sortKey(cache: KindCache, { field, direction }: SortRequest): SortKey {
  const index = cache.index(field) ?? cache.index(shortNames.get(field) ?? field);
  if (index === undefined) throw notIndexed(cache, 'sort field', field);
  return { index, descending: direction === undefined ? index.spec.order === 'DESC' : direction === 'desc' };
}

/** Returns `none` or `all` when no index is needed to know what the requirement selects. */
function fieldCondition(cache: KindCache, requirement: Requirement): Condition | 'none' | 'all' {
  const { key, operator, values } = requirement;
  if (operator === 'gt' || operator === 'lt') {
    throw new ApiError(
      'BadRequest',
      `field selector: ${operator === 'gt' ? '>' : '<'} is for labels only, not for "${key}"`,
    );
  }
  const negated = operator === 'notin' || operator === 'absent';
  const index = cache.index(key) ?? cache.index(shortNames.get(key) ?? key);
  // Only a cluster-scoped kind has no index of `metadata.namespace`. Its objects have no namespace. So a selector of a
  // namespace selects none of them, and its negation selects all.
  if (index === undefined && key === 'metadata.namespace') return negated ? 'all' : 'none';
  if (index === undefined) throw notIndexed(cache, 'field label', key);
  if (operator === 'exists' || operator === 'absent') {
    return { index, negated, test: { kind: 'any' }, onePerObject: true };
  }
  const encoded = new Set(values.map((literal) => encode(index, literal)));
  const onePerObject = encoded.size < 2 || !index.spec.indexFunc.multiValued;
  return { index, negated, test: { kind: 'listed', values: encoded }, onePerObject };
}

function encode(index: KindIndex, literal: string): string {
  const { name, indexFunc } = index.spec;
  try {
    return indexFunc.encode?.(literal) ?? literal;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ApiError('BadRequest', `field selector: bad value for "${name}": ${error.message}`, { cause: error });
  }
}

function indexOf(cache: KindCache, name: string): KindIndex {
  const index = cache.index(name);
  if (index === undefined) throw notIndexed(cache, 'field label', name);
  return index;
}

function notIndexed(cache: KindCache, what: string, field: string): ApiError {
  const indexed = cache.indexes.map((index) => index.spec.name).join(', ');
  return new ApiError('BadRequest', `${what} not supported: ${field} (indexed: ${indexed})`);
}
