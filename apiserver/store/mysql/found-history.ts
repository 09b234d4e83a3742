import type { ResultRow } from './mysql-connection.ts';
import type { FoundHistory } from '../server/known-history.ts';

export interface MysqlHistory extends FoundHistory {
  /** The schema version of the database; during an upgrade, the version to which it is upgraded. */
  readonly schema: number;
}

/**
 * Returns the history in the result of `lookAt`. `compactRevision` arrives as text (a Buffer), because the column
 * `value` of the table `meta` stores the epoch, too.
 */
export function historyOf([revision, epoch, compactRevision, batch, schema]: ResultRow): MysqlHistory {
  return {
    revision: Number(revision),
    epoch: String(epoch),
    compactRevision: Number(String(compactRevision)),
    batch: typeof batch === 'string' ? batch : undefined,
    schema: Number(schema),
  };
}
