import { JsonPath } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor, PrinterColumn } from '@homeostat/controller-runtime/api';
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

/** The columns of a model: Name and what it declares, or Name and Age. */
export function columnsOf({ printerColumns }: ModelDescriptor): TableColumns {
  return new TableColumns(printerColumns.length === 0 ? [ageColumn] : printerColumns);
}

/** Columns, and the cells of an object under them. */
export class TableColumns {
  readonly definitions: readonly ColumnDefinition[];
  readonly #columns: readonly { readonly type: PrinterColumn['type']; readonly path: JsonPath }[];

  /** Name comes first, whatever is declared. */
  constructor(columns: readonly PrinterColumn[]) {
    this.definitions = [nameColumn, ...columns.map(definitionOf)];
    this.#columns = columns.map(({ type, jsonPath }) => ({ type, path: new JsonPath(jsonPath) }));
  }

  /** `nowMs`: what ages count to. */
  cellsOf(object: RowSource, nowMs: number): readonly Cell[] {
    const cells = this.#columns.map(({ type, path }) => cellOf(type, path.firstIn(object), nowMs));
    return [object.metadata.name ?? '', ...cells];
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
