import { isArray, isObject, shownAs, textOf, valueAt } from '../../base/json.ts';
import type { Json, JsonObject, Path } from '../../base/json.ts';
import type { Change } from '../../api/watch-client.ts';

export interface Column {
  readonly name: string;
  readonly type: string;
  readonly description: string;
  /** A column with a priority above 0 is hidden until the user chooses the column. */
  readonly priority: number;
}

type RowMark = 'new' | 'changed' | 'gone';

export interface Row {
  /** `<namespace>/<name>`. */
  readonly key: string;
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly created: string;
  readonly isDeleting: boolean;
  readonly cells: readonly Json[];
  mark: RowMark | undefined;
  /** The time at which `mark` was set, in milliseconds. */
  markedMs: number;
}

/** The field or column that orders the rows. */
export interface Order {
  /** The name of an indexed field, by which the server sorts; or `column:` and the name of a column of the table. */
  readonly field: string;
  readonly isDescending: boolean;
}

export type Compare = (left: Row, right: Row) => number;

/** The time for which a change is highlighted. */
const markMs = 3000;

/** The maximum number of rows that change before they are loaded; beyond it, the list has to be read again. */
const mostUnloaded = 20_000;

/** Returns the columns that a table declares. */
export function columnsOf(table: JsonObject): readonly Column[] {
  const definitions = isArray(table.columnDefinitions) ? table.columnDefinitions.filter(isObject) : [];
  return definitions.map(({ name, type, description, priority }) => ({
    name: textOf(name),
    type: textOf(type),
    description: textOf(description),
    priority: typeof priority === 'number' ? priority : 0,
  }));
}

/** Returns the rows of a table. The cells of a row are followed by the values of the object's fields at `paths`. */
export function rowsOf(table: JsonObject, paths: readonly Path[] = []): readonly Row[] {
  return (isArray(table.rows) ? table.rows.filter(isObject) : []).flatMap((row) => {
    const object = isObject(row.object) ? row.object : {};
    const metadata = isObject(object.metadata) ? object.metadata : {};
    const name = textOf(metadata.name);
    if (name === '') return [];
    const namespace = textOf(metadata.namespace);
    return {
      key: `${namespace}/${name}`,
      name,
      namespace,
      uid: textOf(metadata.uid),
      created: textOf(metadata.creationTimestamp),
      isDeleting: metadata.deletionTimestamp !== undefined,
      cells: [...(isArray(row.cells) ? row.cells : []), ...paths.map((path) => valueAt(object, path) ?? null)],
      mark: undefined,
      markedMs: 0,
    };
  });
}

const byName: Compare = (left, right) =>
  compareTexts(left.name, right.name) || compareTexts(left.namespace, right.namespace);

function compareTexts(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** Returns the text by which a cell is sorted; in ascending order, a row without a value comes last. */
const sortText = (cell: Json | undefined): string => shownAs(cell ?? '\uffff');

function compareCells(left: Json | undefined, right: Json | undefined): number {
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  return compareTexts(sortText(left), sortText(right));
}

/** Returns a function that compares rows by an order; undefined when only the server knows the values to compare. */
export function compareBy(order: Order, columns: readonly Column[]): Compare | undefined {
  const sign = order.isDescending ? -1 : 1;
  if (order.field === 'metadata.name') return (left, right) => sign * byName(left, right);
  if (order.field === 'metadata.creationTimestamp')
    return (left, right) => sign * compareTexts(left.created, right.created) || byName(left, right);
  const index = columns.findIndex(({ name }) => order.field === `column:${name}`);
  if (index < 0) return undefined;
  return (left, right) => sign * compareCells(left.cells[index], right.cells[index]) || byName(left, right);
}

/** The rows of a list, in order. The changes of a watch keep them up to date. */
export class RowTable {
  /** The fields that columns of plugins show. */
  readonly #paths: readonly Path[];
  readonly #rows = new Map<string, Row>();
  /**
   * The changes of rows that are not loaded yet, by key; undefined for a deleted row. They are kept because every chunk
   * shows the state at the time of the first chunk.
   */
  readonly #unloaded = new Map<string, Row | undefined>();
  #order: Row[] = [];
  /**
   * Rows that have to move to another place. They move together, because a search for their old places reads all rows.
   */
  readonly #moved = new Set<Row>();
  #compare: Compare | undefined;
  /** True while the server has more rows; changed rows beyond the last loaded one are not shown then. */
  hasMore = false;
  /**
   * True when the loaded rows do not begin at the start of the list. Then a row that is not loaded, and sorts before
   * the first loaded row, is not added to the table when its object changes.
   */
  isLater = false;
  /** False until the first rows have been received from the server. */
  isRead = false;
  total = 0;

  constructor(paths: readonly Path[] = []) {
    this.#paths = paths;
  }

  get rows(): readonly Row[] {
    return this.#order;
  }

  setCompare(compare: Compare | undefined): void {
    this.#compare = compare;
    if (compare !== undefined && this.isComplete) this.#order.sort(compare);
  }

  /** Returns the rows of a response, which is a part of the list. */
  read(list: JsonObject): readonly Row[] {
    return rowsOf(list, this.#paths);
  }

  /** True when all rows of the list are loaded. */
  get isComplete(): boolean {
    return !this.hasMore && !this.isLater;
  }

  /**
   * True when more than {@link mostUnloaded} rows have changed before they were loaded. The list must then be read
   * again from its start.
   */
  get isOutdated(): boolean {
    return this.#unloaded.size > mostUnloaded;
  }

  replace(rows: readonly Row[]): void {
    this.isRead = true;
    this.#rows.clear();
    this.#unloaded.clear();
    this.#order = [];
    this.append(rows);
    if (this.#compare !== undefined && this.isComplete) this.#order.sort(this.#compare);
  }

  /** Adds the next chunk of the list. If a watch has already reported a change of a row, keeps the changed row. */
  append(rows: readonly Row[]): void {
    for (const row of rows) {
      const { key } = row;
      if (this.#rows.has(key)) continue;
      const newest = this.#unloaded.has(key) ? this.#unloaded.get(key) : row;
      this.#unloaded.delete(key);
      if (newest !== undefined) this.#push(newest);
    }
    this.#placeNew();
  }

  #push(row: Row): void {
    this.#rows.set(row.key, row);
    this.#order.push(row);
  }

  /** Inserts the rows that were added after the list was read, and whose place is among the loaded rows now. */
  #placeNew(): void {
    // The loop needs a copy: #insert returns a row to #unloaded if the place of the row is not loaded yet.
    const added = [...this.#unloaded.values()].flatMap((row) => (row?.mark === 'new' ? [row] : []));
    for (const row of added) {
      this.#unloaded.delete(row.key);
      this.#insert(row);
    }
  }

  /** Applies changes of a watch. A deleted row stays, with a mark, until {@link sweep} removes it. */
  apply(changes: readonly Change[], nowMs: number): void {
    for (const { type, object } of changes) {
      if (type === 'BOOKMARK') continue;
      for (const row of rowsOf(object, this.#paths)) this.#applyRow(type, row, nowMs);
    }
    this.#placeMoved();
  }

  #applyRow(type: 'ADDED' | 'MODIFIED' | 'DELETED', row: Row, nowMs: number): void {
    const old = this.#rows.get(row.key);
    if (type === 'ADDED') this.total += 1;
    if (type === 'DELETED') {
      this.total = Math.max(0, this.total - 1);
      if (old !== undefined) Object.assign(old, { mark: 'gone', markedMs: nowMs });
      else if (this.hasMore) this.#note(row.key, undefined);
      return;
    }
    if (old === undefined) {
      const isNew = type === 'ADDED' || this.#unloaded.get(row.key)?.mark === 'new';
      this.#insert({ ...row, mark: isNew ? 'new' : 'changed', markedMs: nowMs });
      return;
    }
    const isMoved = this.#compare !== undefined && this.#compare(old, row) !== 0;
    Object.assign(old, row, { mark: old.mark === 'new' ? 'new' : 'changed', markedMs: nowMs });
    if (isMoved) this.#moved.add(old);
  }

  #placeMoved(): void {
    const compare = this.#compare;
    if (this.#moved.size === 0 || compare === undefined) return;
    const rest = this.#order.filter((row) => !this.#moved.has(row));
    const moved = [...this.#moved].sort(compare);
    this.#moved.clear();
    const parts: (readonly Row[])[] = [];
    let from = 0;
    for (const row of moved) {
      const at = placeOf(rest, row, compare);
      parts.push(rest.slice(from, at), [row]);
      from = at;
    }
    this.#order = [...parts, rest.slice(from)].flat();
  }

  #insert(row: Row): void {
    // Puts changed rows in their new places first: `placeOf` finds the place of a row by a binary search, which needs
    // sorted rows.
    this.#placeMoved();
    const compare = this.#compare;
    const at = compare === undefined ? 0 : placeOf(this.#order, row, compare);
    // A table that does not begin at the start of the list does not show a new row that sorts before the first loaded
    // row: the row may belong to the earlier part of the list, which the table does not show.
    if (this.isLater && compare !== undefined && at === 0) return;
    const isBeyond = compare === undefined ? row.mark !== 'new' : at > 0 && at === this.#order.length;
    if (this.hasMore && isBeyond) {
      this.#note(row.key, row);
      return;
    }
    this.#rows.set(row.key, row);
    this.#order.splice(at, 0, row);
  }

  #note(key: string, row: Row | undefined): void {
    if (!this.isOutdated) this.#unloaded.set(key, row);
  }

  /**
   * Removes the marks `new` and `changed` from rows that were marked three seconds ago or earlier. Removes rows that
   * have had the mark `gone` for as long. Returns true when something changed.
   */
  sweep(nowMs: number): boolean {
    let isChanged = false;
    let hasGone = false;
    for (const row of this.#order) {
      if (row.mark === undefined || nowMs - row.markedMs < markMs) continue;
      isChanged = true;
      if (row.mark === 'gone') {
        hasGone = true;
        this.#rows.delete(row.key);
      } else row.mark = undefined;
    }
    if (hasGone) this.#order = this.#order.filter((row) => this.#rows.get(row.key) === row);
    return isChanged;
  }
}

/** Returns the position in the sorted `rows` at which `row` is to be inserted. */
function placeOf(rows: readonly Row[], row: Row, compare: Compare): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = rows[middle];
    if (other !== undefined && compare(other, row) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
