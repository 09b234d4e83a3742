import type { Clock, Logger } from '@homeostat/controller-runtime/api';
import { PeriodicTask } from '../../base/periodic-task.ts';
import type { StoredEntry } from '../../index/stored-entry.ts';
import type { KindCache } from '../../index/kind-cache.ts';
import type { KeptStore, NumberedKind } from '../../store/store.ts';
import { nextTurn } from '../../turns/next-turn.ts';
import { sortSteps } from '../../turns/sort-steps.ts';
import { runInTurns } from '../../turns/steps.ts';
import type { Steps } from '../../turns/steps.ts';
import { keptFingerprint } from './kept-fingerprint.ts';
import { maxPartEntries, PartPacker } from './kept-part.ts';
import { KeptReader } from './kept-reader.ts';
import type { SnapshotFacts } from './snapshot-form.ts';
import type { SnapshotKeeper, SnapshotKind } from './snapshot-keeper.ts';

/** A kind that the server serves, and whose index values it may store for the next start. */
export interface KeptKind extends SnapshotKind {
  /** Resolves when no write is running. */
  quiet(): Promise<void>;
}

export interface ValueKeeperParts {
  /** The store for the kept records; undefined when no records are kept. */
  readonly store: KeptStore | undefined;
  /** Writes snapshots at a stop; undefined when the engine cannot have snapshot files. */
  readonly snapshots?: SnapshotKeeper | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The name and version of the program. Values that another program or version has kept are computed again. */
  readonly program: string;
  /** The kinds that are served. */
  readonly served: () => readonly KeptKind[];
  /** The revision of the last change that memory has. */
  readonly revision: () => number;
  /** The maximum number of entries in one part of the kept records. Default {@link maxPartEntries}. */
  readonly partEntries?: number;
}

const intervalMs = 30_000;

/**
 * The number of changes after which a running server saves the records. To compute the values of this many objects
 * takes 0.2 s.
 */
const fewestChanges = 10_000;

/**
 * The minimum number of changes for which a server saves the records when it stops. To compute the values of this many
 * objects takes 10 ms.
 */
const fewestAtStop = 1_000;

/** The number of entries that one step examines. A step takes a fraction of a millisecond. */
const seenPerStep = 500;

/** The number of entries that one step packs. A step takes a fraction of a millisecond. */
const packedPerStep = 64;

/** The kept records of a kind in the store. */
interface State {
  readonly cache: KindCache;
  readonly kind: NumberedKind;
  readonly fingerprint: string;
  readonly reader: KeptReader;
  /** The kept records of the kind in the store; undefined until all objects of the kind have been read. */
  saved: SnapshotFacts['kept'];
}

/**
 * Saves the records of objects in the store, so that the next start copies the records and does not parse the objects.
 * A record belongs to one revision of an object, and never changes. So the records of changed objects are added to the
 * store in new parts, in the background and at a stop. Once more than half of the records belong to former states of
 * objects, all parts are written again.
 */
export class ValueKeeper {
  readonly #parts: ValueKeeperParts;
  readonly #periodic: PeriodicTask;
  readonly #states = new Map<number, State>();
  readonly #partEntries: number;
  #saving: Promise<void> = Promise.resolve();
  #isStopping = false;

  constructor(parts: ValueKeeperParts) {
    this.#parts = parts;
    this.#partEntries = parts.partEntries ?? maxPartEntries;
    this.#periodic = new PeriodicTask({ clock: parts.clock, intervalMs, run: () => this.save(fewestChanges) });
  }

  start(): void {
    if (this.#parts.store !== undefined) this.#periodic.start();
  }

  /**
   * Called before the server stops. If a kind is closed after this call, its snapshot is written, because this process
   * does not serve the kind again.
   */
  prepareStop(): void {
    this.#isStopping = true;
  }

  /** Saves the records a last time, and writes the snapshots. Call this once no more changes are made. */
  async stop(): Promise<void> {
    this.prepareStop();
    await this.#periodic.stop();
    await this.save(fewestAtStop);
    for (const kind of this.#parts.served()) await this.#writeSnapshot(kind);
    await this.#parts.snapshots?.clean();
  }

  /**
   * Returns the fingerprint of everything on which the records of a kind depend; undefined when the kind has an index
   * function without a `definition`.
   */
  fingerprintOf(cache: KindCache): string | undefined {
    return keptFingerprint(cache, this.#parts.program);
  }

  /**
   * Returns the reader of the kept records of a kind that is read into a cache. Returns undefined when no records can
   * be kept: when there is no store, or the kind has an index function without a `definition`. Changes of the kind are
   * saved after {@link finish}.
   */
  read(cache: KindCache, kindNumber: number): KeptReader | undefined {
    const { store, logger } = this.#parts;
    const fingerprint = this.fingerprintOf(cache);
    this.#states.delete(kindNumber);
    if (store === undefined || fingerprint === undefined) return undefined;
    const { group, plural, kind } = cache.descriptor;
    const numbered = { number: kindNumber, group, plural };
    const onUnusable = (reason: string): void =>
      logger.info({ kind, group, reason }, 'kept index values cannot be used; they are computed again');
    const reader = new KeptReader({ store, kind: numbered, cache, fingerprint, onUnusable });
    this.#states.set(kindNumber, { cache, kind: numbered, fingerprint, reader, saved: undefined });
    return reader;
  }

  /**
   * Called when the kind was read from a snapshot: from now on, its changes are saved. `saved` describes the records
   * that the store had when the snapshot was written.
   */
  resume(cache: KindCache, kindNumber: number, saved: SnapshotFacts['kept']): void {
    this.read(cache, kindNumber);
    const state = this.#states.get(kindNumber);
    if (state !== undefined) state.saved = saved ?? { last: 0, size: 0 };
  }

  /**
   * Called when all objects of the kind were read from the store: from now on, the keeper saves the records of objects
   * that change.
   */
  async finish(kindNumber: number): Promise<void> {
    const state = this.#states.get(kindNumber);
    if (state === undefined) return;
    await state.reader.finish();
    const { last, size } = state.reader;
    state.saved = { last, size };
  }

  /** Called when a kind is no longer served: saves its records a last time, once its running writes have ended. */
  close(closed: KeptKind): void {
    this.#saving = this.#closeAfter(this.#saving, closed);
  }

  /** Saves the records of each kind in which at least `fewest` objects changed since the last save. Logs a failure. */
  save(fewest: number): Promise<void> {
    this.#saving = this.#saveAfter(this.#saving, fewest);
    return this.#saving;
  }

  async #closeAfter(before: Promise<void>, closed: KeptKind): Promise<void> {
    await before;
    await closed.quiet();
    await this.#saveOf(closed, fewestAtStop);
    if (this.#isStopping) await this.#writeSnapshot(closed);
    const { cache, kindNumber } = closed;
    if (this.#states.get(kindNumber)?.cache === cache) this.#states.delete(kindNumber);
  }

  async #saveAfter(before: Promise<void>, fewest: number): Promise<void> {
    await before;
    for (const kind of this.#parts.served()) await this.#saveOf(kind, fewest);
  }

  async #saveOf({ cache, kindNumber }: KeptKind, fewest: number): Promise<void> {
    const revision = this.#parts.revision();
    const state = this.#states.get(kindNumber);
    // If the kind was read again meanwhile, the state belongs to another cache.
    if (state?.cache !== cache || state.saved === undefined) return;
    // Revisions count the changes of all kinds, so this difference is an upper limit for the changes of one kind.
    if (revision - state.saved.last < fewest || cache.size < fewest) return;
    try {
      await this.#saveKind(state, { revision, fewest });
    } catch (err) {
      const { kind, group } = cache.descriptor;
      this.#parts.logger.warn({ err, kind, group }, 'index values could not be kept; the next start computes them');
    }
  }

  async #writeSnapshot(kind: KeptKind): Promise<void> {
    const kept = this.#states.get(kind.kindNumber)?.saved;
    await this.#parts.snapshots?.save(kind, { revision: this.#parts.revision(), kept });
  }

  async #saveKind(
    state: State,
    { revision, fewest }: { readonly revision: number; readonly fewest: number },
  ): Promise<void> {
    const { store } = this.#parts;
    if (store === undefined || state.saved === undefined) return;
    const { last, size } = state.saved;
    const changed = await runInTurns(entriesBetween(state.cache, last, revision), 'upkeep');
    if (changed.length < fewest) return;
    const isSparse = size + changed.length > 2 * state.cache.size + this.#partEntries;
    if (isSparse) {
      await store.drop(state.kind);
      state.saved = { last: 0, size: 0 };
    }
    const entries = isSparse ? await runInTurns(entriesBetween(state.cache, 0, revision), 'upkeep') : changed;
    await this.#write(store, state, entries);
  }

  async #write(store: KeptStore, state: State, entries: readonly StoredEntry[]): Promise<void> {
    let packer = new PartPacker(state.fingerprint, this.#partEntries);
    for (const [at, entry] of entries.entries()) {
      packer.add(entry);
      if (packer.isFull || at === entries.length - 1) {
        const part = packer.pack();
        await store.write(state.kind, part);
        state.saved = { last: part.last, size: (state.saved?.size ?? 0) + packer.size };
        packer = new PartPacker(state.fingerprint, this.#partEntries);
      } else if (packer.size % packedPerStep > 0) continue;
      await nextTurn('upkeep');
    }
  }
}

/** Returns the entries to save that have a revision after `from` and up to `upTo`, in the order of revisions. */
function* entriesBetween(cache: KindCache, from: number, upTo: number): Steps<readonly StoredEntry[]> {
  const found: StoredEntry[] = [];
  let seen = 0;
  for (const entry of cache.entries()) {
    if (entry.revision > from && entry.revision <= upTo && isKept(entry)) found.push(entry);
    seen += 1;
    if (seen % seenPerStep === 0) yield;
  }
  return yield* sortSteps(found, (a, b) => a.revision - b.revision);
}

/**
 * Returns false for an object that is being deleted, because such objects are few. Also returns false for an object
 * that an index could not read, because its record has no values, not even the name.
 */
function isKept({ deletion, hasValues }: StoredEntry): boolean {
  return deletion === undefined && hasValues;
}
