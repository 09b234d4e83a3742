import { JsonPath } from '@homeostat/controller-runtime/api';
import type { PrinterColumn } from '@homeostat/controller-runtime/api';
import { formatAge } from './format-age.ts';

/** The value of a cell; null is shown as an empty cell. */
export type Cell = string | number | boolean | null;

/** A column as a Table declares it. */
export interface ColumnDefinition {
  readonly name: string;
  readonly type: PrinterColumn['type'];
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}

/** The parts of an object that a table needs; bookmarks have no name. */
export interface RowSource {
  readonly metadata: { readonly name?: string; readonly resourceVersion?: string };
}

const nameColumn: ColumnDefinition = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: 'Unique within the kind.',
  priority: 0,
};

const ageColumn: PrinterColumn = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
  description: 'Time since the creation.',
};

/** A column, and the way to read its cells. */
export interface Column {
  readonly definition: ColumnDefinition;
  readonly read: (object: RowSource) => unknown;
}

const firstColumn: Column = { definition: nameColumn, read: ({ metadata }) => metadata.name ?? '' };

/** Returns Name, and the declared columns. */
export function declaredColumns(columns: readonly PrinterColumn[]): TableColumns {
  return new TableColumns([firstColumn, ...columns.map(declaredColumn)]);
}

function declaredColumn(column: PrinterColumn): Column {
  const path = new JsonPath(column.jsonPath);
  return { definition: definitionOf(column), read: (object) => path.firstIn(object) };
}

/** Name and Age, for models that declare none. */
export const defaultColumns: readonly PrinterColumn[] = [ageColumn];

/** The columns of a table, which compute the cells of an object. */
export class TableColumns {
  readonly definitions: readonly ColumnDefinition[];
  readonly #columns: readonly Column[];

  constructor(columns: readonly Column[]) {
    this.definitions = columns.map(({ definition }) => definition);
    this.#columns = columns;
  }

  /** Returns the cells of an object; ages are those at `nowMs`. */
  cellsOf(object: RowSource, nowMs: number): readonly Cell[] {
    return this.#columns.map(({ definition, read }) => cellOf(definition.type, read(object), nowMs));
  }
}

function definitionOf(column: PrinterColumn): ColumnDefinition {
  const { name, type, jsonPath, format = '', description = `The value at ${jsonPath}.`, priority = 0 } = column;
  return { name, type, format, description, priority };
}

/** Returns the cell of a value in a column of this type; null when the value has another type. */
export function cellOf(type: PrinterColumn['type'], value: unknown, nowMs: number): Cell {
  switch (type) {
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : null;
    case 'number':
      return typeof value === 'number' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date':
      return typeof value === 'string' ? ageSince(value, nowMs) : null;
    case 'string':
      return textOf(value);
  }
}

// Date.parse accepts many other formats, and reads a time without a zone as local time.
const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i;

function ageSince(date: string, nowMs: number): string {
  if (date === '') return '<unknown>';
  const sinceMs = rfc3339.test(date) ? Date.parse(date) : Number.NaN;
  return Number.isNaN(sinceMs) ? '<invalid>' : formatAge(nowMs - sinceMs);
}

function textOf(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
