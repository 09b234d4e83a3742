import { isJsonObject } from '@homeostat/controller-runtime/api';

import { StoreError } from '../store-error.ts';

export const schemaVersion = 1;

/**
 * The state of a database's history, which is stored under one key. Every write replaces the head, on the condition
 * that it is unchanged. So each write is based on the latest state; if another store has written meanwhile, the whole
 * write fails.
 */
export interface HeadFields {
  readonly schema: number;
  /**
   * The id of the cluster that assigned the revisions. A restored cluster has another id, unless it has the same
   * members and the same token as before.
   */
  readonly cluster: string;
  /**
   * A lower bound of the difference between the index of the cluster's last raft entry and the cluster's revision, when
   * the epoch began. In one cluster, the difference only grows. In a cluster that was restored from a snapshot, it is
   * smaller: the revision continues, but the index starts from the beginning.
   */
  readonly ahead: number;
  readonly epoch: string;
  /** The last revision of the database. */
  readonly revision: number;
  readonly compactRevision: number;
  /** The id of the last transaction. No two transactions have the same id, so equal heads mean equal histories. */
  readonly commit: string;
  /** The ids of stores that write at the same time, in the order of their next writes; see {@link EtcdTurns}. */
  readonly turns: readonly string[];
}

export interface Head extends HeadFields {
  /** All these fields as JSON in UTF-8: the value that etcd stores under the database's key `head`. */
  readonly bytes: Uint8Array;
}

export function formatHead(fields: HeadFields): Head {
  const { schema, cluster, ahead, epoch, revision, compactRevision, commit, turns } = fields;
  const text = JSON.stringify({ schema, cluster, ahead, epoch, revision, compactRevision, commit, turns });
  return { ...fields, bytes: Buffer.from(text) };
}

/**
 * Parses the value of the etcd key `head`. `name` is the name of the database, for messages. Throws StoreError `newer`
 * or `corrupt`.
 */
export function parseHead(bytes: Buffer, name: string): Head {
  const found = parsed(bytes);
  const schema = isJsonObject(found) ? found['schema'] : undefined;
  // A newer version may have other fields, so the version is checked first.
  if (typeof schema === 'number' && schema > schemaVersion) {
    const message = `${name} has schema version ${schema}, this program knows ${schemaVersion}: update Homeostat`;
    throw new StoreError('newer', message);
  }
  const fields = fieldsIn(found);
  if (fields === undefined) throw new StoreError('corrupt', `${name} has a key "head" of another program`);
  return { ...fields, bytes };
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}

function fieldsIn(found: unknown): HeadFields | undefined {
  if (!isJsonObject(found)) return undefined;
  const { schema, cluster, ahead, epoch, revision, compactRevision, commit, turns } = found;
  if (
    typeof schema !== 'number' ||
    typeof ahead !== 'number' ||
    typeof revision !== 'number' ||
    typeof compactRevision !== 'number'
  )
    return undefined;
  if (typeof cluster !== 'string' || typeof epoch !== 'string' || typeof commit !== 'string') return undefined;
  if (!Array.isArray(turns) || !turns.every((each) => typeof each === 'string')) return undefined;
  return { schema, cluster, ahead, epoch, revision, compactRevision, commit, turns };
}
