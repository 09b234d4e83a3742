import type { Order } from './row-table.ts';

/** The settings of a list. They are in the URL, so that a link shows the same list. */
export interface ListView {
  readonly namespace: string;
  readonly labels: string;
  readonly fields: string;
  /** The text that the browser searches in the rows. */
  readonly text: string;
  readonly order: Order;
  readonly hidden: ReadonlySet<string>;
  readonly shown: ReadonlySet<string>;
}

export const defaultSort = 'metadata.name,asc';

export function readView(query: URLSearchParams): ListView {
  const [field, direction] = splitSort(query.get('sort') ?? defaultSort);
  return {
    namespace: query.get('ns') ?? '',
    labels: query.get('labels') ?? '',
    fields: query.get('fields') ?? '',
    text: query.get('q') ?? '',
    order: { field, isDescending: direction === 'desc' },
    hidden: namesIn(query.get('hide')),
    shown: namesIn(query.get('show')),
  };
}

/** Splits a sort at its last comma: the name of a column may have a comma, but a direction has none. */
function splitSort(sort: string): readonly [string, string] {
  const at = sort.lastIndexOf(',');
  return at < 0 ? [sort, 'asc'] : [sort.slice(0, at), sort.slice(at + 1)];
}

/** The order as the value of the `sort` parameter of the API. */
export const sortOf = ({ field, isDescending }: Order): string => `${field},${isDescending ? 'desc' : 'asc'}`;

/** The order in the URL; empty for the default. */
export function formatOrder(order: Order): string {
  const sort = sortOf(order);
  return sort === defaultSort ? '' : sort;
}

function namesIn(value: string | null): ReadonlySet<string> {
  return new Set((value ?? '').split('|').filter((each) => each !== ''));
}

/** True for an order by which the server sorts; the browser sorts by columns. */
export const isServerOrder = ({ field }: Order): boolean => !field.startsWith('column:');
