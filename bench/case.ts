import type { Row } from './result-table.ts';
import type { Settings } from './settings.ts';

export interface CaseContext {
  readonly settings: Settings;
  /** For databases; removed at the end. */
  readonly folder: string;
  /** Cases with many rows leave out those whose name does not contain it. Empty: none. */
  readonly only: string;
}

/** One question, and the rows that answer it. */
export type Case = (context: CaseContext) => Promise<readonly Row[]>;
