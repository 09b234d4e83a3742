import { useEffect, useMemo, useState } from 'preact/hooks';
import { isObject, textOf } from '../../base/json.ts';
import { parseField } from '../../base/field-path.ts';
import type { JsonObject, Path } from '../../base/json.ts';
import { browserClock } from '../../base/time.ts';
import { tableType } from '../../api/api.ts';
import type { Query } from '../../api/api.ts';
import { ApiFailure, toFailure } from '../../api/failure.ts';
import { keyOf, pathOf } from '../../api/resources.ts';
import type { Resource } from '../../api/resources.ts';
import type { WatchState } from '../../api/watch-client.ts';
import { useFollow } from '../../state/follow-kind.ts';
import { now } from '../../state/page-state.ts';
import { addedTo } from '../../state/plugins.ts';
import type { Contribution } from '../../state/plugins.ts';
import { api } from '../../state/session.ts';
import { defaultSort, isServerOrder, sortOf } from './list-view.ts';
import type { ListView } from './list-view.ts';
import { columnsOf, compareBy, RowTable } from './row-table.ts';
import type { Column } from './row-table.ts';

/** The maximum number of objects in a chunk. */
const chunkSize = 500;
/**
 * The maximum number of loaded rows, which limits the memory of the page. The page shows a longer list in parts: the
 * next part that the user requests replaces the loaded rows.
 */
export const mostRows = 20_000;

export interface Rows {
  readonly table: RowTable;
  readonly columns: readonly Column[];
  readonly state: WatchState;
  /** The reason why the next chunk could not be read. */
  readonly failure: ApiFailure | undefined;
  /** True when the list was read again, because the server no longer had all changes after the last received change. */
  readonly isRelisted: boolean;
  /** The position of the first loaded row in the whole list. */
  readonly offset: number;
  /** Loads the next chunk, unless there is none, it is being loaded already, or the page has {@link mostRows} rows. */
  readonly more: () => void;
  /** Replaces the rows by the next part of the list. */
  readonly nextPart: () => void;
  readonly restart: () => void;
}

/** A part of a list: the rows that the page shows at the same time, at most {@link mostRows}. */
interface Part {
  /** The key (`listKey`) of the list of which this is a part. */
  readonly list: string;
  readonly token: string;
  readonly offset: number;
}

const outdated = new ApiFailure('Too many objects have changed since the list was read.', {
  status: 410,
  reason: 'Expired',
});

type Shown = Pick<Rows, 'columns' | 'state' | 'failure' | 'isRelisted'>;

const nothing: Shown = { columns: [], state: { kind: 'listing' }, failure: undefined, isRelisted: false };

/** Returns the live list of a kind. The component is rendered again after each batch of changes. */
export function useRows(resource: Resource, view: ListView): Rows {
  const [, render] = useState(0);
  const [shown, setShown] = useState(nothing);
  const [chosen, setPart] = useState<Part>();
  const [attempt, setAttempt] = useState(0);
  const path = pathOf(resource, view.namespace);
  const sort = isServerOrder(view.order) ? sortOf(view.order) : defaultSort;
  const added = addedTo(keyOf(resource), 'columns');
  const paths = added.map((each) => each.path).join(' ');
  // The rows have only metadata, unless a plugin shows another field.
  const includeObject = added.length === 0 ? undefined : 'Object';
  const query = { labelSelector: view.labels, fieldSelector: view.fields, includeObject };
  const listKey = [path, view.labels, view.fields, sort, attempt, paths].join(' ');
  const part = chosen?.list === listKey ? chosen : { token: '', offset: 0 };
  // A list that the user opens begins with its first rows, even if the page showed later rows of this list before.
  useEffect(() => setPart(undefined), [listKey]);
  const key = `${listKey} ${part.token}`;
  const chunks = useMemo(
    () =>
      new Chunks(path, { ...query, sort }, { offset: part.offset, paths: added.map((each) => parseField(each.path)) }),
    [key],
  );
  const { table } = chunks;
  const changed = (): void => render((count) => count + 1);
  useFollow(key, {
    path,
    query,
    listQuery: { limit: chunkSize, sort, continue: part.token },
    accept: tableType,
    onList: (list, isRelisted) => {
      const columns = [...columnsOf(list), ...added.map(columnOf)];
      chunks.begin(list);
      table.setCompare(compareBy(view.order, columns));
      setShown((old) => ({ ...old, columns, isRelisted, failure: undefined }));
    },
    onChanges: (changes) => {
      table.apply(changes, browserClock.now());
      changed();
    },
    onState: (state) => setShown((old) => ({ ...old, state })),
  });
  useEffect(() => {
    table.setCompare(compareBy(view.order, shown.columns));
    changed();
  }, [view.order.field, view.order.isDescending]);
  useEffect(() => {
    if (table.sweep(now.value)) changed();
  }, [now.value]);
  const fail = (error: unknown): void => setShown((old) => ({ ...old, failure: toFailure(error) }));
  return {
    ...shown,
    table,
    offset: part.offset,
    more: () => void chunks.more().then(changed, fail),
    nextPart: () => setPart({ list: listKey, token: chunks.token, offset: part.offset + table.rows.length }),
    restart: () => setAttempt(attempt + 1),
  };
}

/** Returns the column that a plugin adds. */
const columnOf = ({ title, path, plugin }: Contribution): Column => ({
  name: title,
  type: '',
  description: `${path}, a column that the plugin ${plugin} adds`,
  priority: 0,
});

/** Reads the rows of a list chunk by chunk. */
class Chunks {
  readonly table: RowTable;
  /** The token of the next chunk; empty after the last one. */
  token = '';
  #isLoading = false;
  readonly #path: string;
  /**
   * The query with which every chunk of the list is requested. It never changes, because a continue token is valid only
   * for the selectors and the order with which the first chunk was requested.
   */
  readonly #query: Query;
  readonly #offset: number;

  constructor(
    path: string,
    query: Query,
    { offset, paths }: { readonly offset: number; readonly paths: readonly Path[] },
  ) {
    this.table = new RowTable(paths);
    this.table.isLater = offset > 0;
    this.#path = path;
    this.#query = query;
    this.#offset = offset;
  }

  begin(list: JsonObject): void {
    const rest = this.#read(list);
    this.table.replace(this.table.read(list));
    this.table.total = this.#offset + this.table.rows.length + (rest ?? 0);
  }

  /**
   * Reads the next chunk, if there is one. Does nothing while a chunk is being read, or when the page has
   * {@link mostRows} rows. @throws ApiFailure
   */
  async more(): Promise<void> {
    if (this.token === '' || this.#isLoading || this.table.rows.length >= mostRows) return;
    if (this.table.isOutdated) throw outdated;
    this.#isLoading = true;
    try {
      const query = { ...this.#query, limit: chunkSize, continue: this.token };
      const { body } = await api.call(this.#path, { query, accept: tableType });
      if (!isObject(body)) return;
      const rows = this.table.read(body);
      const rest = this.#read(body);
      this.table.append(rows);
      // For a list without selectors, each chunk has the number of rows that follow it. So the first chunk gives the
      // total, and the watch updates it. For other lists, and after the last chunk, the total is the number of rows so
      // far.
      if (rest === undefined || this.token === '') this.table.total = this.#offset + this.table.rows.length;
    } finally {
      this.#isLoading = false;
    }
  }

  /** Stores the token of the next chunk. Returns how many rows follow; undefined if the server does not count them. */
  #read({ metadata }: JsonObject): number | undefined {
    const { continue: token, remainingItemCount: rest } = isObject(metadata) ? metadata : {};
    this.token = textOf(token);
    this.table.hasMore = this.token !== '';
    if (this.token === '') return 0;
    return typeof rest === 'number' ? rest : undefined;
  }
}
