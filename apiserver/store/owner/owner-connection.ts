import { rm } from 'node:fs/promises';
import { runInTurns } from '../../turns/steps.ts';
import { packOutcomes, unpackBatch } from '../packed-batch.ts';
import { packItems, unpackItems } from '../packed-items.ts';
import { packPage } from '../packed-page.ts';
import type { PagedStore } from '../packed-page.ts';
import { StoreError, storeErrorCodeOf } from '../store-error.ts';
import { CompactedError } from '../store.ts';
import type { Committed, KindClaims, OpenedStore, Operation, Row } from '../store.ts';
import type { OwnerCalls, OwnerReply, OwnerRequest } from './owner-messages.ts';

export interface OwnerConnectionParts {
  readonly store: PagedStore;
  readonly opened: () => Promise<OpenedStore>;
  readonly commit: (batch: readonly Operation[]) => Promise<Committed>;
  readonly startHistory: (revision: number) => Promise<OpenedStore>;
  readonly send: (reply: OwnerReply) => void;
  /** Called with an error after which the store cannot be used any more. */
  readonly onFailure: (error: Error) => void;
}

type Handlers = {
  readonly [Type in keyof OwnerCalls]: (request: OwnerCalls[Type]['request']) => Promise<OwnerCalls[Type]['answer']>;
};

/**
 * Handles the calls of one process. Remembers the process's scans and backups, which must be released when it
 * disconnects.
 */
export class OwnerConnection {
  readonly #parts: OwnerConnectionParts;
  readonly #handlers: Handlers;
  readonly #scans = new Map<number, AsyncIterator<readonly Row[]>>();
  #lastScan = 0;
  /**
   * The paths of the backups that were made for the process at the other end. That process should delete these backups;
   * `close` deletes those that remain.
   */
  readonly #backups = new Set<string>();
  #isClosed = false;

  constructor(parts: OwnerConnectionParts) {
    this.#parts = parts;
    this.#handlers = this.#createHandlers();
  }

  readonly onMessage = (message: unknown): void => {
    void this.#serve(message as OwnerRequest);
  };

  /**
   * Called when the process at the other end has disconnected. Ends the scans of that process, and deletes the backup
   * files that were made for it and that it has not deleted itself.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#scans.keys()].map((scan) => this.#endScan(scan)));
    await Promise.all([...this.#backups].map((path) => rm(path, { force: true })));
  }

  async #serve({ id, type, request }: OwnerRequest): Promise<void> {
    const reply = await this.#replyTo(id, () => this.#handlers[type](request as never));
    if (!this.#isClosed) this.#parts.send(reply);
  }

  async #replyTo(id: number, call: () => Promise<unknown>): Promise<OwnerReply> {
    try {
      return { id, answer: await call() };
    } catch (error) {
      if (error instanceof CompactedError) return { id, compacted: error.compactRevision };
      const failure = error instanceof StoreError ? error : new StoreError('refused', String(error), { cause: error });
      if (storeErrorCodeOf(failure) === 'crashed') this.#parts.onFailure(failure);
      return { id, failure: { code: failure.code, message: failure.message } };
    }
  }

  #createHandlers(): Handlers {
    const { store, opened, commit, startHistory } = this.#parts;
    return {
      open: async () => ({ ...(await opened()), canBackUp: store.backUp !== undefined }),
      commit: async (batch) => packOutcomes(await commit(unpackBatch(batch))),
      beginScan: async ({ kind }) => this.#beginScan(kind),
      nextPage: (scan) => this.#nextPage(scan),
      endScan: (scan) => this.#endScan(scan),
      changes: ({ after, limit }) => store.changePages(after, limit),
      currentRevision: () => store.currentRevision(),
      checkSchema: () => store.checkSchema(),
      compact: ({ upTo, maxRows }) => store.compact(upTo, maxRows),
      numberOf: (name) => store.numberOf(name),
      names: (prefix) => store.names(prefix),
      uniqueIndexes: (kind) => store.uniqueIndexes(kind),
      claims: async (kind) => {
        const { claims, ...rest } = await store.claims(kind);
        return { ...rest, claims: await runInTurns(packItems(claims)) };
      },
      setClaims: async ({ kind, wanted }) => {
        const claims = await runInTurns(unpackItems<KindClaims['claims'][number]>(wanted.claims));
        return store.setClaims(kind, { ...wanted, claims });
      },
      startHistory,
      backUp: () => this.#backUp(),
    };
  }

  #beginScan(kind: number | undefined): number {
    this.#lastScan += 1;
    this.#scans.set(this.#lastScan, this.#parts.store.scan(kind)[Symbol.asyncIterator]());
    return this.#lastScan;
  }

  async #nextPage(scan: number): Promise<OwnerCalls['nextPage']['answer']> {
    const next = await this.#scans.get(scan)?.next();
    return next === undefined || next.done === true ? undefined : packPage(next.value, false);
  }

  async #endScan(scan: number): Promise<void> {
    const iterator = this.#scans.get(scan);
    this.#scans.delete(scan);
    await iterator?.return?.();
  }

  async #backUp(): Promise<string> {
    const { backUp } = this.#parts.store;
    if (backUp === undefined) throw new TypeError('the store makes no backups');
    const path = await backUp();
    this.#backups.add(path);
    if (this.#isClosed) await rm(path, { force: true });
    return path;
  }
}
