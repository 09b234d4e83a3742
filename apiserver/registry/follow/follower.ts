import type { Clock, Logger, Timer } from '@homeostat/controller-runtime/api';
import { PeriodicTask } from '../../base/periodic-task.ts';
import { CompactedError } from '../../store/store.ts';
import type { Change, Store } from '../../store/store.ts';
import { nextTurn } from '../../turns/next-turn.ts';
import { applyChange } from './apply-change.ts';
import { reread } from './reread.ts';
import type { FollowedKind } from './reread.ts';
import { fetchConversions } from '../kinds/fetch-conversions.ts';
import type { Resource } from '../kinds/resource.ts';
import type { ResourceTable } from '../kinds/resource-table.ts';
import type { Revisions } from '../history/revisions.ts';
import type { UnservedLog } from '../kinds/unserved-log.ts';

const changesPerPage = 1000;

/** The bytes of changes that are applied in one turn of the event loop. To apply them takes 5 to 10 ms. */
const bytesPerTurn = 256 * 1024;

/** The fixed cost of applying a change, expressed as a number of bytes that is added to the bytes of the change. */
const leastBytes = 2048;

/** The pause after a failed read. */
const retryMs = 250;

/** The interval at which the database's revision is read, in case a hint was lost. */
const heartbeatMs = 2_000;

/** The maximum time for which the changes of other processes wait for a commit of this process. */
const ownCommitMs = 10;

/** The maximum time for which changes wait until webhooks have converted their objects. */
const conversionMs = 1_000;

export interface FollowerParts {
  readonly store: Store;
  readonly table: () => ResourceTable | undefined;
  readonly log: UnservedLog;
  /** A kind that is in memory, but not in the table of served kinds. */
  readonly hidden: FollowedKind;
  readonly revisions: Revisions;
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * True while a commit of this process is running. The follower then delays the read for a hint, by at most
   * {@link ownCommitMs}: the result of the commit contains the revision before the commit, and {@link Follower.reach}
   * then reads the changes up to that revision anyway.
   */
  readonly isCommitting: () => boolean;
  /** Returns the database's revision. */
  readonly latest: () => Promise<number>;
  /** Called after each read of changes, with the error if the read failed. */
  readonly onRead: (error: unknown) => void;
}

/**
 * Keeps memory equal to the database when other processes write to the database as well: applies the changes of all
 * processes, in revision order. The follower reads changes when a hint reports a new revision, when a caller waits for
 * a revision, and before this process's own writes become visible.
 */
export class Follower {
  readonly #parts: FollowerParts;
  readonly #heartbeats: PeriodicTask;
  /** The latest revision that a hint reported, or that a caller waits for. It is lowered when the hint was wrong. */
  #heard = 0;
  /**
   * The latest revision that a hint reported, or a caller requested, since the last query for the database's revision
   * began; 0 if there was none. If the query finds no further changes, `#heard` gets the value of `#news`.
   */
  #news = 0;
  #reading: Promise<void> | undefined;
  #timer: Timer | undefined;
  #pause: (() => void) | undefined;
  #unsubscribe: () => void = () => undefined;
  readonly #waiters = new Set<() => void>();
  #isStopped = false;

  constructor(parts: FollowerParts) {
    this.#parts = parts;
    this.#heartbeats = new PeriodicTask({ clock: parts.clock, intervalMs: heartbeatMs, run: () => this.#ask() });
  }

  start(): void {
    this.#unsubscribe = this.#parts.store.subscribe((revision) => this.hear(revision));
    this.#heartbeats.start();
  }

  /**
   * Reads no further changes. Waits for the read of changes that is in progress, and then ends the waits of all callers
   * of {@link reach}, even if memory has not reached their revisions.
   */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#unsubscribe();
    this.#parts.clock.clearTimeout(this.#timer);
    void this.#heartbeats.stop();
    this.#pause?.();
    await this.#reading;
    this.#wake();
  }

  /** Receives a hint: the store may have changes up to this revision. */
  hear(revision: number): void {
    if (revision <= this.#parts.revisions.current) return;
    this.#note(revision);
    if (!this.#parts.isCommitting()) return this.resume();
    this.#timer ??= this.#parts.clock.setTimeout(() => this.resume(), ownCommitMs);
  }

  /**
   * Starts to read the changes that hints have reported. `hear` calls this method immediately, unless a commit of this
   * process is running. Then the call follows when no commits remain, but at most {@link ownCommitMs} after the hint.
   */
  resume(): void {
    this.#parts.clock.clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#read();
  }

  /** Resolves once memory has all changes up to a stored revision, or at `stop`. There is no timeout. */
  async reach(revision: number): Promise<void> {
    while (!this.#isStopped && revision > this.#parts.revisions.current) {
      const reached = new Promise<void>((resolve) => this.#waiters.add(resolve));
      this.#note(revision);
      this.#read();
      await reached;
    }
  }

  #note(revision: number): void {
    this.#heard = Math.max(this.#heard, revision);
    this.#news = Math.max(this.#news, revision);
  }

  async #ask(): Promise<void> {
    // A failure is handled in `latest`. The next heartbeat tries again.
    const revision = await this.#parts.latest().catch(() => undefined);
    if (revision === undefined) return;
    // If memory already has all changes, nothing has to be read, and the follower reports a successful read.
    if (revision <= this.#parts.revisions.current) this.#parts.onRead(undefined);
    this.hear(revision);
  }

  #read(): void {
    if (this.#isStopped || this.#heard <= this.#parts.revisions.current) return;
    this.#reading ??= this.#readOn().finally(() => {
      this.#reading = undefined;
      this.#wake();
      // A caller may have requested a later revision between the last check and this line, so the check is repeated.
      this.#read();
    });
  }

  async #readOn(): Promise<void> {
    const { revisions, logger, onRead } = this.#parts;
    while (!this.#isStopped && this.#heard > revisions.current) {
      try {
        await this.#readNext();
        onRead(undefined);
      } catch (err) {
        if (this.#isStopped) return;
        onRead(err);
        logger.warn({ err, revision: revisions.current }, 'changes of other replicas cannot be read; trying again');
        await this.#wait(retryMs);
      }
      this.#wake();
    }
  }

  async #readNext(): Promise<void> {
    try {
      await this.#readPage();
    } catch (error) {
      if (!(error instanceof CompactedError)) throw error;
      const { compactRevision } = error;
      const { revisions, logger } = this.#parts;
      logger.warn(
        { revision: revisions.current, compactRevision },
        'memory is too far behind the database; reading all objects again',
      );
      await reread({ ...this.#parts, isStopped: () => this.#isStopped });
    }
  }

  async #readPage(): Promise<void> {
    const { store, revisions } = this.#parts;
    const from = revisions.current;
    // Each revision has at most one change. So, if the revisions have no gaps, this limit excludes changes after the
    // latest hint. Usually this process wrote those changes, and need not read them.
    const changes = await store.changes(from, Math.min(changesPerPage, this.#heard - from));
    if (changes.length > 0) return this.#applyAll(changes);
    // Revisions may have gaps, and a hint may be wrong, so the database is queried for its revision.
    this.#news = 0;
    const present = await store.currentRevision();
    const missed = await store.changes(from, 1);
    if (missed.length > 0) return;
    if (present > revisions.current) revisions.advance(present);
    this.#heard = this.#news;
  }

  /**
   * Applies changes in several turns of the event loop; a large change has a separate turn. Commits of this process may
   * complete between the turns.
   */
  async #applyAll(changes: readonly Change[]): Promise<void> {
    const { table, clock } = this.#parts;
    await convertChanges(changes, { table: table(), clock });
    if (this.#isStopped) return;
    let bytes = 0;
    for (const change of changes) {
      const more = leastBytes + change.data.length;
      if (bytes > 0 && bytes + more > bytesPerTurn) {
        bytes = 0;
        await nextTurn('background');
        if (this.#isStopped) return;
      }
      applyChange(this.#parts, change);
      bytes += more;
    }
  }

  #wake(): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const resolve of waiters) resolve();
  }

  async #wait(delayMs: number): Promise<void> {
    const { clock } = this.#parts;
    let timer: Timer | undefined;
    await new Promise<void>((resolve) => {
      this.#pause = resolve;
      timer = clock.setTimeout(resolve, delayMs);
    });
    clock.clearTimeout(timer);
  }
}

/**
 * Fetches the conversions of objects that another replica has stored in another version. Replicas may store objects in
 * different versions while the storage version is changed. Resolves without the conversions when a webhook fails or is
 * slow.
 */
async function convertChanges(
  changes: readonly Change[],
  { table, clock }: { readonly table: ResourceTable | undefined; readonly clock: Clock },
): Promise<void> {
  const byKind = new Map<Resource, Change[]>();
  for (const change of changes) {
    const resource = table?.ofNumber(change.kind);
    if (resource?.convertsByWebhook !== true) continue;
    const same = byKind.get(resource);
    if (same === undefined) byKind.set(resource, [change]);
    else same.push(change);
  }
  if (byKind.size === 0) return;
  const fetched = Array.from(byKind, async ([resource, each]) => fetchConversions(resource, each));
  let timer: Timer | undefined;
  const passed = new Promise<void>((resolve) => (timer = clock.setTimeout(resolve, conversionMs)));
  await Promise.race([Promise.allSettled(fetched), passed]);
  clock.clearTimeout(timer);
}
