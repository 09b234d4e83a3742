import { isArray, isObject, shownAs, textOf, valueAt } from '../../base/json.ts';
import type { Json, JsonObject, Path } from '../../base/json.ts';
import type { Change } from '../../api/watch-client.ts';

export interface Column {
  readonly name: string;
  readonly type: string;
  readonly description: string;
  /** Columns above 0 are hidden until they are chosen. */
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
  /** When the mark was set, in milliseconds. */
  markedMs: number;
}

/** The field or column that orders the rows. */
export interface Order {
  /** An indexed field, or `column:` and a name. */
  readonly field: string;
  readonly isDescending: boolean;
}

export type Compare = (left: Row, right: Row) => number;

/** The time for which a change can be seen. */
const markMs = 3000;

/** The columns that a table declares. */
export function columnsOf(table: JsonObject): readonly Column[] {
  const definitions = isArray(table.columnDefinitions) ? table.columnDefinitions.filter(isObject) : [];
  return definitions.map(({ name, type, description, priority }) => ({
    name: textOf(name),
    type: textOf(type),
    description: textOf(description),
    priority: typeof priority === 'number' ? priority : 0,
  }));
}

/** The rows of a table. The fields at the paths follow the cells. */
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

/** Rows without a value come last. */
const sortText = (cell: Json | undefined): string => shownAs(cell ?? '\uffff');

function compareCells(left: Json | undefined, right: Json | undefined): number {
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  return compareTexts(sortText(left), sortText(right));
}

/** Compares rows as an order says; undefined when only the server knows the values of its field. */
export function compareBy(order: Order, columns: readonly Column[]): Compare | undefined {
  const sign = order.isDescending ? -1 : 1;
  if (order.field === 'metadata.name') return (left, right) => sign * byName(left, right);
  if (order.field === 'metadata.creationTimestamp')
    return (left, right) => sign * compareTexts(left.created, right.created) || byName(left, right);
  const index = columns.findIndex(({ name }) => order.field === `column:${name}`);
  if (index < 0) return undefined;
  return (left, right) => sign * compareCells(left.cells[index], right.cells[index]) || byName(left, right);
}

/** The rows of a list that a watch keeps up to date, in order. */
export class RowTable {
  /** The fields that columns of plugins show. */
  readonly #paths: readonly Path[];
  readonly #rows = new Map<string, Row>();
  #order: Row[] = [];
  #compare: Compare | undefined;
  /** False while the server has more rows: then those beyond the last loaded one are only counted. */
  isComplete = true;
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

  /** The rows of a part of the list. */
  read(list: JsonObject): readonly Row[] {
    return rowsOf(list, this.#paths);
  }

  replace(rows: readonly Row[]): void {
    this.#rows.clear();
    this.#order = [];
    this.append(rows);
    if (this.#compare !== undefined && this.isComplete) this.#order.sort(this.#compare);
  }

  /** Adds the next chunk of the list; rows that a watch brought earlier stay as they are. */
  append(rows: readonly Row[]): void {
    for (const row of rows) {
      if (this.#rows.has(row.key)) continue;
      this.#rows.set(row.key, row);
      this.#order.push(row);
    }
  }

  /** Applies changes of a watch. A row that is gone stays, marked, until {@link sweep}. */
  apply(changes: readonly Change[], nowMs: number): void {
    for (const { type, object } of changes) {
      if (type === 'BOOKMARK') continue;
      for (const row of rowsOf(object, this.#paths)) this.#applyRow(type === 'DELETED', row, nowMs);
    }
  }

  #applyRow(isGone: boolean, row: Row, nowMs: number): void {
    const old = this.#rows.get(row.key);
    if (isGone) {
      this.total = Math.max(0, this.total - 1);
      if (old !== undefined) Object.assign(old, { mark: 'gone', markedMs: nowMs });
      return;
    }
    if (old === undefined || old.mark === 'gone') this.total += 1;
    if (old === undefined) {
      this.#insert({ ...row, mark: 'new', markedMs: nowMs });
      return;
    }
    const isMoved = this.#compare !== undefined && this.#compare(old, row) !== 0;
    Object.assign(old, row, { mark: old.mark === 'new' ? 'new' : 'changed', markedMs: nowMs });
    if (isMoved && this.#compare !== undefined) this.#order.sort(this.#compare);
  }

  #insert(row: Row): void {
    const compare = this.#compare;
    const at = compare === undefined ? 0 : placeOf(this.#order, row, compare);
    if (!this.isComplete && at === this.#order.length && at > 0) return;
    this.#rows.set(row.key, row);
    this.#order.splice(at, 0, row);
  }

  /** Removes marks that have been seen, and the rows that are gone. Returns true when something changed. */
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

/** Where a row belongs in an ordered list. */
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
