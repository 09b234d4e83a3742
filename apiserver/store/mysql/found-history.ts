import type { ResultRow } from './mysql-connection.ts';
import type { FoundHistory } from '../server/known-history.ts';

export interface MysqlHistory extends FoundHistory {
  /** Schema version. */
  readonly schema: number;
}

/** The history in the response to `lookAt`. Numbers in `meta`, which has the epoch as well, are text. */
export function historyOf([revision, epoch, compactRevision, batch, schema]: ResultRow): MysqlHistory {
  return {
    revision: Number(revision),
    epoch: String(epoch),
    compactRevision: Number(String(compactRevision)),
    batch: typeof batch === 'string' ? batch : undefined,
    schema: Number(schema),
  };
}
