import { isJsonObject } from '@homeostat/controller-runtime/api';
import type { JsonObject } from '@homeostat/controller-runtime/api';
import { print, printable } from './print.ts';

/**
 * The Accept header that requests a Table, or plain JSON if the server cannot send a Table. Each row of the Table has
 * the metadata of its object.
 */
export const tableType = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';

export interface TableFlags {
  /** True to show the columns of lower priority as well. */
  readonly isWide: boolean;
  readonly hasNamespaces: boolean;
  readonly hasLabels: boolean;
  readonly hasHeaders: boolean;
  /** Written before each name, such as `person.example.com/`. */
  readonly namePrefix: string;
}

interface Column {
  readonly name: string;
  readonly index: number;
}

/** Prints the tables that a server sends, page by page; a later page can only make a column wider. */
export class TablePrinter {
  readonly #flags: TableFlags;
  readonly #widths: number[] = [];
  #columns: readonly Column[] | undefined;

  constructor(flags: TableFlags) {
    this.#flags = flags;
  }

  /** True once a row has been printed. */
  get hasRows(): boolean {
    return this.#widths.length > 0;
  }

  /** Prints a Table. The names of the columns are printed before the first row. */
  async print(table: JsonObject): Promise<void> {
    const rows = listOf(table['rows']);
    if (rows.length === 0) return;
    const isFirst = !this.hasRows;
    this.#columns ??= listOf(table['columnDefinitions'])
      .map(({ name, priority }, index) => ({ name: String(name), index, priority: Number(priority ?? 0) }))
      .filter(({ priority }) => priority === 0 || this.#flags.isWide);
    const lines = rows.map((row) => this.#cellsOf(row));
    if (isFirst && this.#flags.hasHeaders) lines.unshift(this.#headers());
    for (const line of lines) this.#measure(line);
    await print(lines.map((line) => this.#format(line)).join(''));
  }

  #headers(): readonly string[] {
    const names = (this.#columns ?? []).map(({ name }) => name.toUpperCase());
    return this.#framed('NAMESPACE', names, 'LABELS');
  }

  #cellsOf({ cells, object }: JsonObject): readonly string[] {
    const values: readonly unknown[] = Array.isArray(cells) ? cells : [];
    const metadata = isJsonObject(object) && isJsonObject(object['metadata']) ? object['metadata'] : {};
    const texts = (this.#columns ?? []).map(({ index, name }) => {
      const prefix = name === 'Name' ? this.#flags.namePrefix : '';
      return `${prefix}${cellText(values[index])}`;
    });
    return this.#framed(cellText(metadata['namespace']), texts, labelText(metadata['labels']));
  }

  #framed(namespace: string, texts: readonly string[], labels: string): readonly string[] {
    const { hasNamespaces, hasLabels } = this.#flags;
    return [...(hasNamespaces ? [namespace] : []), ...texts, ...(hasLabels ? [labels] : [])];
  }

  #measure(line: readonly string[]): void {
    for (const [index, cell] of line.entries()) this.#widths[index] = Math.max(this.#widths[index] ?? 0, cell.length);
  }

  #format(line: readonly string[]): string {
    return `${line
      .map((cell, index) => cell.padEnd(this.#widths[index] ?? 0))
      .join('   ')
      .trimEnd()}\n`;
  }
}

function listOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function cellText(value: unknown): string {
  if (value === null || value === undefined || value === '') return '<none>';
  return printable(typeof value === 'string' ? value : JSON.stringify(value));
}

function labelText(labels: unknown): string {
  if (!isJsonObject(labels)) return '<none>';
  return printable(
    Object.entries(labels)
      .map(([key, value]) => `${key}=${String(value)}`)
      .join(','),
  );
}
