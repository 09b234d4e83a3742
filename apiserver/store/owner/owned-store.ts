import type { Duplex } from 'node:stream';
import { runInTurns } from '../../turns/steps.ts';
import { packBatch, unpackOutcomes } from '../packed-batch.ts';
import { packItems, unpackItems } from '../packed-items.ts';
import { packNotes } from '../packed-notes.ts';
import { unpackChanges, unpackRows } from '../packed-page.ts';
import { SharedRead } from '../shared-read.ts';
import { StoreError } from '../store-error.ts';
import type {
  Change,
  ClaimsOutcome,
  Committed,
  KindClaims,
  OpenedStore,
  Operation,
  Row,
  Store,
  StoredClaim,
  StoredClaims,
  StoredIndexes,
} from '../store.ts';
import { OwnerLink } from './owner-link.ts';
import type { CommittedChanges, OwnerCalls } from './owner-messages.ts';
import { RecentChanges } from './recent-changes.ts';

/**
 * Creates a store on a database that another process has open. The other process is at the other end of the stream that
 * `connect` returns. `open` calls `connect` once.
 */
export function createOwnedStore(connect: () => Duplex): Store {
  return new OwnedStore(connect);
}

/**
 * A store that sends its calls to a {@link StoreOwner} in another process. The owner sends this store the changes that
 * any process commits, without waiting for a request.
 */
class OwnedStore implements Store {
  readonly isShared = true;
  readonly passesNotes = true;
  readonly #connect: () => Duplex;
  readonly #recent = new RecentChanges();
  readonly #listeners = new Set<(revision: number) => void>();
  readonly #revision = new SharedRead(() => this.#call('currentRevision', undefined));
  #link: OwnerLink | undefined;
  #canBackUp = false;
  #closing: Promise<void> | undefined;

  constructor(connect: () => Duplex) {
    this.#connect = connect;
  }

  /** Creates a backup; undefined when the owner cannot make one, and before the store is open. */
  get backUp(): (() => Promise<string>) | undefined {
    return this.#canBackUp ? () => this.#call('backUp', undefined) : undefined;
  }

  async open(): Promise<OpenedStore> {
    if (this.#link || this.#closing) throw new StoreError('closed', 'a store can be opened only once');
    this.#link = new OwnerLink(this.#connect(), (committed) => this.#onCommitted(committed));
    try {
      const { canBackUp, ...opened } = await this.#call('open', undefined);
      this.#canBackUp = canBackUp;
      return opened;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async commit(batch: readonly Operation[]): Promise<Committed> {
    const answer = await this.#call('commit', { ...packBatch(batch), notes: packNotes(batch) });
    const outcomes = unpackOutcomes(answer);
    const last = outcomes.findLast((outcome) => 'revision' in outcome);
    if (last !== undefined) this.#wake(last.revision);
    return { before: answer.before, outcomes };
  }

  async *scan(kind?: number): AsyncGenerator<readonly Row[], void, undefined> {
    const scan = await this.#call('beginScan', { kind });
    try {
      let next = this.#nextPage(scan);
      for (let page = await next; page !== undefined; page = await next) {
        // The owner reads the next page while the caller uses this one.
        next = this.#nextPage(scan);
        yield unpackRows(page);
      }
    } finally {
      // If the connection is lost, the owner ends the scan itself.
      await this.#link?.call('endScan', scan).catch(() => undefined);
    }
  }

  async changes(after: number, limit: number): Promise<readonly Change[]> {
    this.#opened();
    const known = this.#recent.after(after, limit);
    // If the changes are not known here, they are read from the database: only the database can tell that there are no
    // more changes.
    if (known !== undefined) return known;
    return (await this.#call('changes', { after, limit })).flatMap(unpackChanges);
  }

  currentRevision(): Promise<number> {
    return this.#revision.get();
  }

  checkSchema(): Promise<void> {
    return this.#call('checkSchema', undefined);
  }

  /**
   * Calls `wake` with the new revision after each commit of this store, and each time the {@link StoreOwner} in the
   * other process sends committed changes.
   * `wake` must not throw.
   */
  subscribe(wake: (revision: number) => void): () => void {
    // Each call adds a new function, so that the same `wake` can be added twice.
    const listener = (revision: number): void => wake(revision);
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  compact(upTo: number, maxRows: number): Promise<number> {
    return this.#call('compact', { upTo, maxRows });
  }

  numberOf(name: string): Promise<number> {
    return this.#call('numberOf', name);
  }

  names(prefix: string): Promise<readonly string[]> {
    return this.#call('names', prefix);
  }

  uniqueIndexes(kind: number): Promise<StoredIndexes> {
    return this.#call('uniqueIndexes', kind);
  }

  async claims(kind: number): Promise<StoredClaims> {
    const { claims, ...rest } = await this.#call('claims', kind);
    return { ...rest, claims: await runInTurns(unpackItems<StoredClaim>(claims)) };
  }

  async setClaims(kind: number, wanted: KindClaims): Promise<ClaimsOutcome> {
    this.#opened();
    const claims = await runInTurns(packItems(wanted.claims));
    return this.#call('setClaims', { kind, wanted: { ...wanted, claims } });
  }

  async startHistory(revision: number): Promise<OpenedStore> {
    const opened = await this.#call('startHistory', revision);
    this.#recent.clear();
    return opened;
  }

  /** Finishes pending requests, and closes the stream. May be called again. */
  close(): Promise<void> {
    this.#closing ??= this.#link?.close() ?? Promise.resolve();
    this.#listeners.clear();
    return this.#closing;
  }

  #nextPage(scan: number): Promise<OwnerCalls['nextPage']['answer']> {
    const page = this.#call('nextPage', scan);
    // A failure is thrown when the page is awaited. If the caller stops before that, the failure is ignored.
    page.catch(() => undefined);
    return page;
  }

  #onCommitted(committed: CommittedChanges): void {
    this.#recent.add(committed);
    this.#wake(committed.upTo);
  }

  #wake(revision: number): void {
    for (const wake of this.#listeners) wake(revision);
  }

  async #call<Type extends keyof OwnerCalls>(
    type: Type,
    request: OwnerCalls[Type]['request'],
  ): Promise<OwnerCalls[Type]['answer']> {
    return this.#opened().call(type, request);
  }

  #opened(): OwnerLink {
    if (!this.#link || this.#closing) throw new StoreError('closed', 'the store is not open');
    return this.#link;
  }
}
