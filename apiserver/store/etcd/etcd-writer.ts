import { sleep } from '@homeostat/controller-runtime';
import type { Clock } from '@homeostat/controller-runtime/api';

import type { EtcdHistory } from './etcd-history.ts';
import type { EtcdLayout } from './etcd-layout.ts';
import type { EtcdLink } from './etcd-link.ts';
import type { EtcdLock } from './etcd-lock.ts';
import { isExpiredToken, isLostConnection, isOverQuota, storeErrorFrom } from './etcd-errors.ts';
import type { RequestOp, ResponseOp } from './etcd-messages.ts';
import { formatHead, type Head, type HeadFields, parseHead } from './head.ts';
import { commitOf } from './stored-value.ts';
import { drop, foundIn, get, isEqual, nested, put, reading } from './transactions.ts';
import type { EtcdTurns } from './etcd-turns.ts';
import { SerialQueue } from '../serial-queue.ts';
import { StoreError, storeErrorCodeOf } from '../store-error.ts';

/** A write fails after this time if none of its attempts succeeds, usually because other stores write first. */
const patienceMs = 12_000;

/** The maximum time for which the store tries to look up the outcome of a write; then the outcome counts as unknown. */
const outcomePatienceMs = 30_000;
/** The pause between two attempts to look up an outcome. */
const outcomePauseMs = 250;

/**
 * The maximum number of reads that a transaction repeats if its condition fails. With more reads, the request could
 * become too large.
 */
const maxRepeatedReads = 300;

/**
 * The maximum number of requests that one write reads and removes. In such a request, a store asks for a place in the
 * order of writers, see {@link EtcdTurns}.
 */
const maxAsking = 8;

/** The state that was read in one transaction. */
export interface Found {
  readonly head: Head;
  /** The values that the transaction read, by their keys in etcd. */
  readonly values: ReadonlyMap<string, Buffer>;
  /**
   * False when the state was read from a member that may lag behind. If a write that is based on the state succeeds,
   * the state was the latest one.
   */
  readonly isLatest: boolean;
}

/** The decision about the state that was read: a result, and a write if one is needed. */
interface Decision<Result> {
  readonly result: Result;
  readonly write?: Write | undefined;
}

export interface Write {
  /** The fields that the write changes in etcd's key `head` (the state of the database's history), with new values. */
  readonly head: Partial<Pick<HeadFields, 'epoch' | 'revision' | 'compactRevision'>>;
  readonly operations: readonly RequestOp[];
  /**
   * The id of the batch whose changes the write adds to the log, as one record. The key of this record in etcd contains
   * the revision that the write stores in `head`. Absent when the write adds nothing to the log.
   */
  readonly commit?: string;
}

export interface Reading<Result> {
  readonly reads: readonly RequestOp[];
  readonly decide: (found: Found) => Decision<Result> | Promise<Decision<Result>>;
  /** True: a read may return the state of the connected member, which may be older than the latest state. */
  readonly mayLag?: boolean;
}

export interface EtcdWriterParts {
  readonly link: EtcdLink;
  readonly layout: EtcdLayout;
  readonly history: EtcdHistory;
  /** The id of this `EtcdStore` instance. */
  readonly id: string;
  readonly lock: EtcdLock;
  readonly turns: EtcdTurns;
  readonly clock: Clock;
  readonly uuid: () => string;
}

/**
 * Writes with a compare-and-swap of the etcd key `head`: reads, decides, and writes only if `head` is unchanged since
 * the read. A writer has one write in flight at a time. The stores of other processes may write to the same etcd at the
 * same time. When a write fails for this reason, {@link EtcdTurns} gives the stores an order in which they write.
 */
export class EtcdWriter {
  readonly #parts: EtcdWriterParts;
  readonly #queue = new SerialQueue();

  constructor(parts: EtcdWriterParts) {
    this.#parts = parts;
  }

  /** Runs a task after all earlier tasks. */
  run<Result>(task: () => Promise<Result>): Promise<Result> {
    return this.#queue.run(task);
  }

  drained(): Promise<void> {
    return this.#queue.drained();
  }

  /**
   * Reads, decides and writes. Reads and decides again when another store has written first, or when a connection was
   * lost and nothing was written. Call this only within {@link run}.
   */
  async update<Result>({ reads, decide, mayLag = false }: Reading<Result>): Promise<Result> {
    const { clock, link, turns } = this.#parts;
    const untilMs = clock.monotonicMs() + patienceMs;
    await turns.wait();
    let found = await this.#read(reads, mayLag);
    for (;;) {
      const { result, write } = await decide(found);
      if (!write && found.isLatest) return result;
      const next = write ? await this.#swap(found, write, reads) : await this.#read(reads, false);
      if (next === 'written') return result;
      found = (await turns.wait()) ? await this.#read(reads, mayLag) : next;
      if (clock.monotonicMs() > untilMs) {
        throw new StoreError('io', `${link.name}: other processes changed the database during every attempt to write`);
      }
    }
  }

  async #read(reads: readonly RequestOp[], mayLag: boolean): Promise<Found> {
    const { link, history, turns } = this.#parts;
    const known = history.known.last;
    const leastRevision = Math.max(known.revision, turns.revision);
    const all = [...this.#ofHead(), ...reading(reads)];
    const success = all.map((operation) => (mayLag ? serializable(operation) : operation));
    const { responses } = await link.repeat((connection) => connection.call('KV/Txn', { success }));
    const found = this.#found(responses, !mayLag);
    // A revision below `leastRevision` means that the etcd member lags behind, or that a backup was restored. So the
    // store reads again with `mayLag` false: that read is up to date, and its check finds a restored history.
    if (mayLag) return found.head.revision < leastRevision ? this.#read(reads, false) : found;
    history.known.check({ ...found.head, batch: known.batch }, known);
    return found;
  }

  #ofHead(): readonly RequestOp[] {
    const { layout } = this.#parts;
    return [
      get(layout.head),
      get(layout.exclusive),
      { request_range: { ...layout.turns, limit: maxAsking, keys_only: true } },
    ];
  }

  #found(responses: readonly ResponseOp[], isLatest: boolean): Found {
    const { layout, link } = this.#parts;
    const values = foundIn(responses);
    const head = values.get(layout.head.toString());
    if (head === undefined) throw new StoreError('diverged', `${link.name} was emptied: restart this server`);
    return { head: parseHead(head, link.name), values, isLatest };
  }

  /**
   * Writes if the head is unchanged. If nothing was written, because the head has changed or for another reason,
   * resolves with the state that was found.
   */
  async #swap({ head: from, values }: Found, write: Write, reads: readonly RequestOp[]): Promise<Found | 'written'> {
    const { link, layout, lock, history, turns, clock, id, uuid } = this.#parts;
    const asking = [...values.keys()].flatMap((key) => layout.turnAt(key) ?? []);
    const to = formatHead({ ...from, ...write.head, commit: write.commit ?? uuid(), turns: turns.next(from, asking) });
    const isShort = reads.length <= maxRepeatedReads;
    const connection = await link.get();
    // `known` is read before the transaction. While the transaction runs, reads may raise `history.known.last` above
    // the revision that the transaction finds, and the check below would take this for a restored backup.
    const known = history.known.last;
    const startMs = clock.monotonicMs();
    try {
      const { succeeded, responses } = await connection.call('KV/Txn', {
        compare: [isEqual(layout.head, from.bytes), lock.condition],
        success: [
          put(layout.head, to.bytes),
          ...asking.map((each) => drop(layout.turn(each))),
          ...nested(write.operations),
        ],
        failure: [
          ...(turns.needsPlace(from) ? [put(layout.turn(id), '')] : []),
          ...this.#ofHead(),
          ...(isShort ? nested(reads) : []),
        ],
      });
      turns.wrote(clock.monotonicMs() - startMs);
      if (succeeded) return this.#written(to, write);
      turns.lost();
      const found = this.#found(responses, true);
      lock.check(found.values.get(layout.exclusive.toString()));
      // Usually this store notices a restored database when it connects again. If another store has noticed it earlier,
      // that store has changed `head`. The failed transaction has read `head`, so the check notices it here.
      history.known.check({ ...found.head, batch: known.batch }, known);
      if (isShort) return found;
    } catch (error) {
      if (isOverQuota(error) && (await this.#isStored(to, write))) return this.#written(to, write);
      const isGone = isLostConnection(error);
      if (isGone || isExpiredToken(error)) link.discard(connection);
      else throw storeErrorFrom(error, link.name);
      if (isGone && (await this.#wasWritten(from, to, write))) return this.#written(to, write);
    }
    return this.#read(reads, false);
  }

  #written(to: Head, { commit }: Write): 'written' {
    const { history, turns } = this.#parts;
    turns.see(to);
    if (commit !== undefined) history.known.learn(to.revision, commit);
    return 'written';
  }

  /**
   * Looks up a write whose response was lost. Returns true when the write was executed. Returns false when it was not
   * executed and cannot be executed later: the look-up replaces the head, so that the write fails even if it arrives
   * later. Also returns false for a write that adds no record to the log, because such a write cannot be looked up.
   * Rejects with StoreError `unknown` when the look-up fails, when the cluster does not respond in time, or when the
   * history since the write is compacted.
   */
  async #wasWritten(from: Head, to: Head, { commit }: Write): Promise<boolean> {
    const { clock, link } = this.#parts;
    const untilMs = clock.monotonicMs() + outcomePatienceMs;
    for (;;) {
      try {
        return await link.repeat((connection) => this.#lookFor(connection, { from, to, commit }));
      } catch (cause) {
        const code = storeErrorCodeOf(cause);
        if (code === 'unknown') throw cause;
        if (code !== 'io' || clock.monotonicMs() >= untilMs) {
          const message = `the connection to ${link.name} was lost during a write; it is unknown whether the write is stored`;
          throw new StoreError('unknown', message, { cause });
        }
      }
      await sleep(clock, outcomePauseMs);
    }
  }

  async #lookFor(
    connection: Awaited<ReturnType<EtcdLink['get']>>,
    { from, to, commit }: { readonly from: Head; readonly to: Head; readonly commit: string | undefined },
  ): Promise<boolean> {
    const { layout, uuid } = this.#parts;
    const fence = formatHead({ ...from, commit: uuid() });
    const { succeeded, responses } = await connection.call('KV/Txn', {
      compare: [isEqual(layout.head, from.bytes)],
      success: [put(layout.head, fence.bytes)],
      failure: [get(layout.head), get(layout.log(to.revision))],
    });
    // A write that adds no record to the log cannot be looked up. So the caller reads the state, which may already
    // include the effect of the write, and decides again.
    if (succeeded || commit === undefined) return false;
    return this.#isLogged(this.#found(responses, true), to.revision, commit);
  }

  /**
   * Returns true when a write is stored although its response was an error of the quota. After such a response, the
   * member does not execute the write later.
   */
  async #isStored(to: Head, { commit }: Write): Promise<boolean> {
    const { layout, link } = this.#parts;
    const success = [get(layout.head), get(layout.log(to.revision))];
    const { responses } = await link.repeat((connection) => connection.call('KV/Txn', { success }));
    const found = this.#found(responses, true);
    if (found.head.commit === to.commit) return true;
    return commit !== undefined && this.#isLogged(found, to.revision, commit);
  }

  #isLogged({ head, values }: Found, revision: number, commit: string): boolean {
    const { layout, link } = this.#parts;
    const record = values.get(layout.log(revision).toString());
    if (record !== undefined) return commitOf(record) === commit;
    if (head.compactRevision < revision) return false;
    const message = `a write to ${link.name} failed, and the history since then is compacted; it is unknown whether the write is stored`;
    throw new StoreError('unknown', message);
  }
}

function serializable(operation: RequestOp): RequestOp {
  if ('request_range' in operation) return { request_range: { ...operation.request_range, serializable: true } };
  if (!('request_txn' in operation)) return operation;
  const { success, ...rest } = operation.request_txn;
  return { request_txn: { ...rest, success: success.map(serializable) } };
}
