import type { Row } from './result-table.ts';
import type { Settings } from './settings.ts';

export interface CaseContext {
  readonly settings: Settings;
  /** The folder for databases. It is removed at the end. */
  readonly folder: string;
  /**
   * Cases with many rows measure only the rows with this text in their names. With an empty text, they measure all
   * rows.
   */
  readonly only: string;
  /** Adds text for a page of the documentation. It is printed below the table. */
  readonly addPage: (text: string) => void;
}

/** A function that measures one thing, and returns the rows with the results. */
export type Case = (context: CaseContext) => Promise<readonly Row[]>;
