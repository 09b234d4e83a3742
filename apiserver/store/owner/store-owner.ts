import type { Duplex } from 'node:stream';
import type { PagedStore } from '../packed-page.ts';
import { StoreError } from '../store-error.ts';
import { CompactedError } from '../store.ts';
import type { OpenedStore } from '../store.ts';
import { ChangeBroadcast } from './change-broadcast.ts';
import { MergedCommits } from './merged-commits.ts';
import { MessageStream } from './message-stream.ts';
import { OwnerConnection } from './owner-connection.ts';

/**
 * Opens a database, and serves it to other processes of this machine. Each of them has an {@link OwnedStore} at the
 * other end of a stream. An owner is for engines whose database only one process can open.
 */
export class StoreOwner {
  readonly #store: PagedStore;
  readonly #commits: MergedCommits;
  readonly #broadcast: ChangeBroadcast;
  readonly #streams = new Set<MessageStream>();
  readonly #connections = new Set<OwnerConnection>();
  #opened: OpenedStore | undefined;
  #closing: Promise<void> | undefined;
  /**
   * Resolves with an error when the database cannot be used until this process is started again. Otherwise it stays
   * pending.
   */
  readonly failed: Promise<Error>;
  #fail: (error: Error) => void = () => undefined;

  /** `store` must not be open yet. */
  constructor(store: PagedStore) {
    this.#store = store;
    this.#broadcast = new ChangeBroadcast(store, this.#streams);
    this.#commits = new MergedCommits({
      store,
      onCommitted: (commit) => this.#broadcast.publish(commit),
    });
    this.failed = new Promise((resolve) => (this.#fail = resolve));
  }

  /** Opens the database. Rejects like {@link Store.open}. */
  async open(): Promise<OpenedStore> {
    return this.#setOpened(await this.#store.open());
  }

  /** Serves the process at the other end of the stream, until the stream or the owner is closed. */
  connect(stream: Duplex): void {
    const messages: MessageStream = new MessageStream(stream, {
      onMessage: (message) => connection.onMessage(message),
      onClose: () => {
        this.#streams.delete(messages);
        this.#connections.delete(connection);
        void connection.close();
      },
    });
    const connection: OwnerConnection = new OwnerConnection({
      store: this.#store,
      opened: () => this.#present(),
      commit: (batch) => this.#commits.commit(batch),
      startHistory: (revision) => this.#startHistory(revision),
      send: (reply) => messages.send(reply),
      onFailure: (error) => this.#fail(error),
    });
    this.#streams.add(messages);
    this.#connections.add(connection);
  }

  /** Ends all streams and closes the database. May be called again. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const connections = [...this.#connections];
    for (const messages of this.#streams) messages.destroy();
    await Promise.all(connections.map((connection) => connection.close()));
    await this.#store.close();
  }

  /**
   * Returns the result of `open` for a process that opens the database through this owner. The result contains the
   * current revisions: since the owner opened the database, other writes and compactions may have changed them.
   */
  async #present(): Promise<OpenedStore> {
    if (this.#opened === undefined) throw new StoreError('closed', 'the store is not open');
    const { epoch, compactRevision } = this.#opened;
    const revision = await this.#store.currentRevision();
    return { epoch, revision, compactRevision: await this.#compactRevision(compactRevision) };
  }

  async #compactRevision(known: number): Promise<number> {
    try {
      await this.#store.changes(known, 1);
      return known;
    } catch (error) {
      if (error instanceof CompactedError) return error.compactRevision;
      throw error;
    }
  }

  async #startHistory(revision: number): Promise<OpenedStore> {
    return this.#setOpened(await this.#store.startHistory(revision));
  }

  #setOpened(opened: OpenedStore): OpenedStore {
    this.#opened = opened;
    this.#broadcast.startAfter(opened.revision);
    return opened;
  }
}
