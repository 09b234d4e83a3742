import { formatAge, JsonPath } from '@homeostat/controller-runtime/api';
import type { PrinterColumn } from '@homeostat/controller-runtime/api';
import { isStructure, jsonValueAt } from './json-value-at.ts';

/** The value of a cell; null is shown as an empty cell. */
export type Cell = string | number | boolean | null;

/** The declaration of a column in a Table. */
export interface ColumnDefinition {
  readonly name: string;
  readonly type: PrinterColumn['type'];
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}

/** The parts of an object that every table needs. `name` is optional, because bookmarks have no name. */
export interface RowSource {
  readonly metadata: { readonly name?: string; readonly resourceVersion?: string };
}

const nameColumn: ColumnDefinition = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: 'Unique within the kind and the namespace, if any.',
  priority: 0,
};

const ageColumn: PrinterColumn = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
  description: 'Time since the creation.',
};

/** A column, and the functions that read its cells. */
export interface Column {
  readonly definition: ColumnDefinition;
  readonly read: (object: RowSource) => unknown;
  /** The paths of all fields that `read` uses. Default: `read` may use the whole object. */
  readonly paths?: readonly FieldPath[];
  /**
   * Reads the cell from the JSON of a large object. By default, the fields at `paths` are parsed, and `read` gets an
   * object with only those fields.
   */
  readonly readJson?: (json: Buffer) => unknown;
}

/** The names of the fields on the way from the root of an object to a value. */
export type FieldPath = readonly string[];

/** The paths of the metadata fields that columns show. */
export const metadataPaths = {
  name: ['metadata', 'name'],
  creationTimestamp: ['metadata', 'creationTimestamp'],
} as const;

const firstColumn: Column = {
  definition: nameColumn,
  read: ({ metadata }) => metadata.name ?? '',
  paths: [metadataPaths.name],
};

/** Returns the column Name, followed by the declared columns. */
export function declaredColumns(columns: readonly PrinterColumn[]): TableColumns {
  return new TableColumns([firstColumn, ...columns.map(declaredColumn)]);
}

function declaredColumn(column: PrinterColumn): Column {
  const path = new JsonPath(column.jsonPath);
  const { fields } = path;
  const read = (object: object): unknown => path.firstIn(object);
  const definition = definitionOf(column);
  const end = {};
  const isPlain = fields.length > 0 && read(withFieldAt(fields, end)) === end;
  if (!isPlain) return { definition, read, paths: [fields] };
  return { definition, read, readJson: (json) => shownValue(column.type, jsonValueAt(json, fields)) };
}

function withFieldAt(path: FieldPath, value: unknown): RowSource {
  const object = { metadata: {} };
  putAt(object, path, value);
  return object;
}

/**
 * Returns the value of a cell. An object or a list may have more than a megabyte, so it is not parsed: a column of type
 * string shows its JSON, and other columns show nothing.
 */
function shownValue(type: PrinterColumn['type'], json: Buffer | undefined): unknown {
  if (json === undefined) return undefined;
  if (!isStructure(json)) return JSON.parse(json.toString('utf8'));
  return type === 'string' ? json.toString('utf8') : undefined;
}

/** The column Age, for models that declare no columns. */
export const defaultColumns: readonly PrinterColumn[] = [ageColumn];

/** The columns of a table. They compute the cells of an object. */
export class TableColumns {
  readonly definitions: readonly ColumnDefinition[];
  readonly #columns: readonly Column[];

  constructor(columns: readonly Column[]) {
    this.definitions = columns.map(({ definition }) => definition);
    this.#columns = columns;
  }

  /** Returns the cells of an object. Ages are computed for the time `nowMs`. */
  cellsOf(object: RowSource, nowMs: number): readonly Cell[] {
    return this.#columns.map(({ definition, read }) => cellOf(definition.type, read(object), nowMs));
  }

  /**
   * Returns the cells of an object from its JSON. It parses only the fields that the columns show, unless a column may
   * read the whole object.
   */
  cellsOfJson(json: Buffer, nowMs: number): readonly Cell[] {
    return this.#columns.map((column) => cellOf(column.definition.type, readFromJson(column, json), nowMs));
  }
}

/** Parses the whole JSON of an object. */
export function parseRow(json: Buffer): RowSource {
  return JSON.parse(json.toString('utf8')) as RowSource;
}

function readFromJson({ read, readJson, paths = [[]] }: Column, json: Buffer): unknown {
  if (readJson !== undefined) return readJson(json);
  if (paths.some((path) => path.length === 0)) return read(parseRow(json));
  const parts = { metadata: {} };
  for (const path of paths) {
    const value = jsonValueAt(json, path);
    if (value !== undefined) putAt(parts, path, JSON.parse(value.toString('utf8')));
  }
  return read(parts);
}

/**
 * Sets the value at a path of fields. Calls for several paths may come in any order: a later call for `spec` replaces a
 * `spec` that has only `name`, and a later call for `spec.name` only repeats the name that `spec` already has.
 */
function putAt(parts: object, path: FieldPath, value: unknown): void {
  let place = parts;
  for (const name of path.slice(0, -1)) {
    if (!Object.hasOwn(place, name)) setField(place, name, {});
    const below: unknown = Reflect.get(place, name);
    if (typeof below !== 'object' || below === null) return;
    place = below;
  }
  setField(place, path.at(-1) ?? '', value);
}

/** Sets a field. Unlike an assignment, this also sets a field with the name `__proto__`. */
function setField(place: object, name: string, value: unknown): void {
  Object.defineProperty(place, name, { value, enumerable: true, configurable: true, writable: true });
}

function definitionOf(column: PrinterColumn): ColumnDefinition {
  const { name, type, jsonPath, format = '', description = `The value at ${jsonPath}.`, priority = 0 } = column;
  return { name, type, format, description, priority };
}

/**
 * Returns the cell for a value in a column of this type. If the value has a different type, the cell has the value as
 * JSON in a column of type string, and is null in all other columns.
 */
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

// Every time is checked with this expression before Date.parse reads it: Date.parse alone accepts many other formats,
// and reads a time without a zone as local time.
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
