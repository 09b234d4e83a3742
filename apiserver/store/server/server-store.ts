import type { Committed, OpenedStore, Operation } from '../store.ts';
import { StoreError } from '../store-error.ts';
import type { ChangeSubscription } from './change-subscription.ts';

/**
 * The result of connecting a store: the state of the database, and the subscription to its new revisions, whichever
 * store has written them.
 */
export interface Connected {
  readonly opened: OpenedStore;
  readonly subscription: ChangeSubscription;
}

/**
 * The life cycle of a store on a database server: it opens once, calls listeners with new revisions while it is open,
 * and closes once.
 */
export abstract class ServerStore {
  readonly isShared = true;
  #subscription: ChangeSubscription | undefined;
  /** The running reads, for which `close` waits. */
  readonly #reads = new Set<Promise<unknown>>();
  #isOpened = false;
  #closing: Promise<void> | undefined;

  async open(): Promise<OpenedStore> {
    if (this.#isOpened || this.#closing) throw new StoreError('closed', 'a store can be opened only once');
    this.#isOpened = true;
    try {
      const { opened, subscription } = await this.connect();
      this.#subscription = subscription;
      return opened;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async commit(batch: readonly Operation[]): Promise<Committed> {
    const subscription = this.opened();
    const committed = await this.commitBatch(batch);
    const last = committed.outcomes.findLast((outcome) => 'revision' in outcome);
    if (last) subscription.notice(last.revision);
    return committed;
  }

  async startHistory(revision: number): Promise<OpenedStore> {
    const subscription = this.opened();
    const opened = await this.beginHistory(revision);
    subscription.restart(opened.revision);
    return opened;
  }

  /** Calls `wake` with each new revision. `wake` must not throw. */
  subscribe(wake: (revision: number) => void): () => void {
    return this.opened().subscribe(wake);
  }

  /** Finishes pending requests, releases the locks and ends the sessions. May be called again. */
  close(): Promise<void> {
    this.#closing ??= this.disconnect(this.#subscription?.close());
    return this.#closing;
  }

  /** Returns the subscription of the open store. @throws StoreError `closed` unless the store is open */
  protected opened(): ChangeSubscription {
    if (!this.#subscription || this.#closing) throw new StoreError('closed', 'the store is not open');
    return this.#subscription;
  }

  /** Runs a read, and returns its result. {@link readsEnded} waits for running reads. */
  protected async read<Result>(start: () => Promise<Result>): Promise<Result> {
    this.opened();
    const result = start();
    this.#reads.add(result);
    try {
      return await result;
    } finally {
      this.#reads.delete(result);
    }
  }

  protected async readsEnded(): Promise<void> {
    await Promise.allSettled(this.#reads);
  }

  /** Connects to the database. Called once, by `open`. */
  protected abstract connect(): Promise<Connected>;
  protected abstract commitBatch(batch: readonly Operation[]): Promise<Committed>;
  protected abstract beginHistory(revision: number): Promise<OpenedStore>;
  /**
   * Closes the connections. Called once, even when `connect` has rejected. `unsubscribed` settles when the subscription
   * has ended.
   */
  protected abstract disconnect(unsubscribed: Promise<void> | undefined): Promise<void>;
}
