import type { EtcdConnection } from './etcd-connection.ts';
import { EtcdError } from './etcd-errors.ts';
import { EtcdLayout } from './etcd-layout.ts';
import type { Integer, TxnResponse } from './etcd-messages.ts';
import { formatHead, type Head, parseHead, schemaVersion } from './head.ts';
import { commitOf } from './stored-value.ts';
import { foundIn, get, isAbsent, isEqual, put } from './transactions.ts';
import { KnownHistory, type KnownRevision } from '../server/known-history.ts';
import { StoreError, storeErrorCodeOf } from '../store-error.ts';

/** The oldest version of etcd that is accepted. */
const oldest = [3, 4] as const;

/**
 * The number by which revisions increase when a new epoch starts, so that no revision that a client may have seen is
 * assigned again.
 */
const revisionGap = 1_000_000;

export interface EtcdHistoryParts {
  readonly layout: EtcdLayout;
  /** The name of the database, for messages. */
  readonly name: string;
  readonly uuid: () => string;
}

/** The facts about a cluster that change when it is restored. */
type Origin = Pick<Head, 'cluster' | 'ahead'>;

/** Checks at each new connection that the cluster still has the changes that this store has read or written. */
export class EtcdHistory {
  readonly known: KnownHistory;
  readonly #parts: EtcdHistoryParts;
  #first: Head | undefined;

  constructor(parts: EtcdHistoryParts) {
    this.#parts = parts;
    this.known = new KnownHistory(parts.name);
  }

  /** The value of the key `head` when the first connection was made. */
  get opened(): Head {
    if (!this.#first) throw new StoreError('closed', 'the store is not open');
    return this.#first;
  }

  /**
   * Checks the version and the history of a member. The first call creates the database if it does not exist. A call
   * starts a new epoch if a backup was restored. Rejects with StoreError `diverged` if this store had read or written a
   * history that the member no longer has.
   */
  async check(connection: EtcdConnection): Promise<void> {
    for (;;) {
      const { version, raftAppliedIndex } = await connection.call('Maintenance/Status', {});
      checkVersion(version);
      const head = await this.#look(connection, raftAppliedIndex);
      if (head === 'changed') continue;
      this.#first ??= head;
      return;
    }
  }

  /**
   * Reads the head, which is the state of the database's history, from a member. At the first connection, creates the
   * head if there is none, and starts a new epoch if the cluster was restored. At later connections, compares the head
   * with the history that this store knows. `applied` is the index of the last raft entry that the member had executed
   * before this call.
   */
  async #look(connection: EtcdConnection, applied: Integer): Promise<Head | 'changed'> {
    const { layout, name } = this.#parts;
    const last = this.known.last;
    const response = await connection.call('KV/Txn', {
      success: [get(layout.head), get(layout.log(last.revision)), { request_range: { ...layout.all, limit: 1 } }],
    });
    const found = foundIn(response.responses);
    const bytes = found.get(layout.head.toString());
    const { cluster_id, revision } = response.header;
    const origin = { cluster: cluster_id.toString(), ahead: difference(applied, revision) };
    if (bytes === undefined) return this.#create(connection, origin, found);
    const head = parseHead(bytes, name);
    if (this.#first) {
      const record = found.get(layout.log(last.revision).toString());
      await this.#compare(connection, head, { last, record, origin });
      return head;
    }
    if (head.cluster !== origin.cluster || (await this.#isRestored(connection, head, revision))) {
      return this.#startEpoch(connection, head, { ...origin, seen: head.revision });
    }
    this.known.start(head);
    return head;
  }

  /**
   * Returns true when the cluster was restored. `revision` is the cluster's revision at the time when the head was
   * read.
   */
  async #isRestored(connection: EtcdConnection, head: Head, revision: Integer): Promise<boolean> {
    const { raftAppliedIndex } = await connection.call('Maintenance/Status', {});
    // A member of etcd increases its raftAppliedIndex only after the effect of a raft entry is visible. So the index
    // may be one too small here, and the comparison adds 1.
    return difference(raftAppliedIndex, revision) + 1 < head.ahead;
  }

  async #create(connection: EtcdConnection, origin: Origin, found: ReadonlyMap<string, Buffer>): Promise<'changed'> {
    const { layout, name, uuid } = this.#parts;
    if (this.#first) throw new StoreError('diverged', `${name} was emptied: restart this server`);
    const [other] = found.keys();
    if (other !== undefined) {
      const message = `${name} has keys of another program, such as ${JSON.stringify(other)}: use another prefix`;
      throw new StoreError('corrupt', message);
    }
    await this.#refuseNested(connection);
    const fields = {
      ...origin,
      schema: schemaVersion,
      epoch: uuid(),
      revision: 0,
      compactRevision: 0,
      commit: uuid(),
      turns: [],
    };
    await connection.call('KV/Txn', {
      compare: [isAbsent(layout.all)],
      success: [put(layout.head, formatHead(fields).bytes)],
    });
    return 'changed';
  }

  /**
   * Refuses the prefix of this database if it is below the prefix of another database, because a database owns all keys
   * below its prefix.
   */
  async #refuseNested(connection: EtcdConnection): Promise<void> {
    const names = this.#parts.layout.prefix.split('/').slice(1, -1);
    for (const at of names.keys()) {
      const outer = new EtcdLayout(`/${names.slice(0, at + 1).join('/')}`);
      const found = await readable(connection.call('KV/Txn', { success: [get(outer.head)] }));
      const head = found && foundIn(found.responses).get(outer.head.toString());
      if (head !== undefined && isHead(head)) {
        const message = `${this.#parts.name} is inside of the database with the prefix ${outer.prefix}: use another prefix`;
        throw new StoreError('corrupt', message);
      }
    }
  }

  /**
   * Checks that the history in the database contains the history that this process knows. `head` is the value of the
   * etcd key `head`. `last` is the last revision that this process knew when it read this key, with the epoch of this
   * revision. `record` is the entry of the change log for this revision; undefined if the log has none. Rejects with
   * StoreError `diverged` if the database lacks the known history. If `head` still has the known epoch, starts a new
   * epoch before it rejects.
   */
  async #compare(
    connection: EtcdConnection,
    head: Head,
    {
      last,
      record,
      origin,
    }: { readonly last: KnownRevision; readonly record: Buffer | undefined; readonly origin: Origin },
  ): Promise<void> {
    try {
      this.known.check({ ...head, batch: record && commitOf(record) }, last);
    } catch (error) {
      // Clients that watched the lost history must not take the next revisions for its continuation, so a new epoch
      // starts.
      const isMarked = head.epoch !== last.epoch;
      if (!isMarked) {
        const seen = Math.max(head.revision, last.revision);
        await this.#startEpoch(connection, head, { ...origin, seen });
      }
      throw error;
    }
  }

  async #startEpoch(
    connection: EtcdConnection,
    head: Head,
    { cluster, ahead, seen }: Origin & { readonly seen: number },
  ): Promise<'changed'> {
    const { layout, uuid } = this.#parts;
    const revision = seen + revisionGap;
    const next = formatHead({
      ...head,
      cluster,
      ahead,
      epoch: uuid(),
      revision,
      compactRevision: revision,
      commit: uuid(),
    });
    await connection.call('KV/Txn', {
      compare: [isEqual(layout.head, head.bytes)],
      success: [put(layout.head, next.bytes)],
    });
    return 'changed';
  }
}

function checkVersion(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > oldest[0] || (major === oldest[0] && minor >= oldest[1])) return;
  throw new StoreError('refused', `etcd ${version} is too old: ${oldest.join('.')} or newer is needed`);
}

function difference(index: Integer, revision: Integer): number {
  return Number(index.toString()) - Number(revision.toString());
}

/** Resolves with undefined when the user may not read the keys. */
async function readable(response: Promise<TxnResponse>): Promise<TxnResponse | undefined> {
  try {
    return await response;
  } catch (error) {
    if (error instanceof EtcdError && error.message.includes('permission denied')) return undefined;
    throw error;
  }
}

function isHead(bytes: Buffer): boolean {
  try {
    parseHead(bytes, '');
    return true;
  } catch (error) {
    return storeErrorCodeOf(error) === 'newer';
  }
}
