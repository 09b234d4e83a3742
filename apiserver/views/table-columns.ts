import { JsonPath } from '@homeostat/controller-runtime/api';
import type { PrinterColumn } from '@homeostat/controller-runtime/api';
import { formatAge } from './format-age.ts';

/** What stands in a row; null is shown as nothing. */
export type Cell = string | number | boolean | null;

/** A column as a Table declares it. */
export interface ColumnDefinition {
  readonly name: string;
  readonly type: PrinterColumn['type'];
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}

/** What a table needs of an object; bookmarks have no name. */
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

/** A column with what stands under it. */
export interface Column {
  readonly definition: ColumnDefinition;
  readonly read: (object: RowSource) => unknown;
}

const firstColumn: Column = { definition: nameColumn, read: ({ metadata }) => metadata.name ?? '' };

/** Name, and the columns that are declared. */
export function declaredColumns(columns: readonly PrinterColumn[]): TableColumns {
  return new TableColumns([firstColumn, ...columns.map(declaredColumn)]);
}

function declaredColumn(column: PrinterColumn): Column {
  const path = new JsonPath(column.jsonPath);
  return { definition: definitionOf(column), read: (object) => path.firstIn(object) };
}

/** Name and Age, for models that declare none. */
export const defaultColumns: readonly PrinterColumn[] = [ageColumn];

/** Columns, and the cells of an object under them. */
export class TableColumns {
  readonly definitions: readonly ColumnDefinition[];
  readonly #columns: readonly Column[];

  constructor(columns: readonly Column[]) {
    this.definitions = columns.map(({ definition }) => definition);
    this.#columns = columns;
  }

  /** `nowMs`: what ages count to. */
  cellsOf(object: RowSource, nowMs: number): readonly Cell[] {
    return this.#columns.map(({ definition, read }) => cellOf(definition.type, read(object), nowMs));
  }
}

function definitionOf(column: PrinterColumn): ColumnDefinition {
  const { name, type, jsonPath, format = '', description = `The value at ${jsonPath}.`, priority = 0 } = column;
  return { name, type, format, description, priority };
}

/** A value under a column of the type; null where it is of another one. */
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

// Date.parse reads much else, and takes a time without its zone for a local one.
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
