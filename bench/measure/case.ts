import type { Row } from './result-table.ts';
import type { Settings } from './settings.ts';

export interface CaseContext {
  readonly settings: Settings;
  /** The folder for databases; removed at the end. */
  readonly folder: string;
  /**
   * Cases with many rows measure only rows whose name contains this text; with an empty text, they measure all rows.
   */
  readonly only: string;
  /** Called with text for a page of the book, which is printed below the table. */
  readonly addPage: (text: string) => void;
}

/** One question, and the rows with its answer. */
export type Case = (context: CaseContext) => Promise<readonly Row[]>;
