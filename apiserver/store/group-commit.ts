import { ApiError } from '@homeostat/controller-runtime/api';

import type { Committed, Operation, Outcome, RequiredClaim, Store } from './store.ts';
import type { GroupCommitOptions } from './group-commit-options.ts';
import { requiredTokenOf, tokensOf } from './operation-tokens.ts';
import { StoreError, storeErrorCodeOf } from './store-error.ts';

const defaults = { maxOperations: 1000, maxBytes: 4 * 1024 * 1024, maxQueued: 10_000 } as const;

type CommittingStore = Pick<Store, 'commit' | 'isShared' | 'batchLimits'>;

/**
 * When this many operations are ready, a batch is sent without waiting for the end of the turn of the event loop. This
 * does not apply to a shared store, in which each transaction is expensive.
 */
const enough = 32;

/**
 * The maximum number of batches that are written, but whose results are not delivered yet. At this number, no further
 * batch is sent.
 */
const maxUnanswered = 2;

/**
 * The maximum number of written operations that are settled in one turn. The limit does not apply to a batch of fewer
 * than {@link enough} operations, if no other operation is ready, no earlier batch is undelivered, and no other process
 * writes to the store. Each settled operation causes work: its response is sent, and a request that has waited for it
 * starts. Node.js accepts only one connection in a turn with such work. With 2,000 clients that write, the median time
 * until a new connection was accepted was 2,500 ms when a whole batch was settled in one turn, 54 ms with 64 operations
 * in a turn, and 14 ms with 16. A turn costs 1 µs.
 */
const maxSettled = 16;

/** An operation, and the functions that receive its result. Exactly one of `settle` and `fail` is called, once. */
export interface Submission {
  readonly operation: Operation;
  /**
   * Called when the operation is durable, before any operation of the batch is settled. The calls for all operations
   * are in the order of revisions. Not called for a conflict.
   */
  apply(revision: number): void;
  settle(outcome: Outcome): void;
  fail(error: unknown): void;
}

/** A submitted operation, which waits in the queue or is in a batch. */
interface Entry {
  readonly submission: Submission;
  /** The key and the changed claims of the operation. No other operation of the same batch may have one of them. */
  readonly tokens: readonly string[];
  /**
   * The claims that the operation requires. Other operations of the batch may require them as well, but not change
   * them.
   */
  required: readonly Requirement[];
  /**
   * The later operations that wait for this one, because they have the same key, or because they change or require a
   * claim that this one changes.
   */
  successors: Entry[] | undefined;
  /**
   * The number of things for which this operation waits: each earlier operation, and each claim that earlier operations
   * require and this operation changes.
   */
  blockers: number;
}

/**
 * A required claim, and the number of pending operations that require it and were submitted after the last change of
 * the claim. An operation is pending until its outcome is known.
 */
interface Requirement {
  readonly claim: string;
  requiring: number;
  /**
   * The operations that change the claim and were submitted after operations that require it. They wait until those
   * operations are no longer pending.
   */
  readonly waiting: Entry[];
}

/**
 * Combines the writes that arrive during a commit into the next commit. There is no timer: when no commit is running, a
 * write is committed at the latest at the end of the turn of the event loop. Operations on the same key, and those that
 * change the same claim, are committed in different batches, in the order of their submission.
 */
export class GroupCommit {
  readonly #store: CommittingStore;
  /**
   * The number of ready operations at which a batch is sent without waiting for the end of the turn of the event loop.
   * Infinite for a shared store, where few large batches are faster: a transaction costs as much as 20 to 30
   * operations, the disk of the database server may be slow, and transactions of other replicas come in between.
   */
  readonly #enough: number;
  readonly #options: GroupCommitOptions &
    Required<Pick<GroupCommitOptions, 'maxOperations' | 'maxBytes' | 'maxQueued'>>;
  /** By each token (an object's key or a unique value): the last pending operation that affects it. */
  readonly #tails = new Map<string, Entry>();
  readonly #requirements = new Map<string, Requirement>();
  readonly #ready: Entry[] = [];
  #queued = 0;
  /** The number of operations in the batch that the store is writing. */
  #inFlight = 0;
  /** The number of batches that are durable, but whose results are not delivered yet. */
  #unanswered = 0;
  /** Resolves when the results of the previous batches are delivered. */
  #answered: Promise<void> = Promise.resolve();
  #isScheduled = false;
  #isClosed = false;
  readonly #drained: (() => void)[] = [];

  constructor(store: CommittingStore, options: GroupCommitOptions) {
    this.#store = store;
    this.#enough = store.isShared ? Number.POSITIVE_INFINITY : enough;
    this.#options = { ...defaults, ...store.batchLimits, ...options };
  }

  /**
   * Commits an operation. Resolves when the operation is durable, or with its conflict. Before any promise of the batch
   * resolves, calls `apply` for each durable operation, in the order of revisions over all operations. Rejects with
   * ApiError TooManyRequests when the queue is full, and with StoreError when the store fails. If the code of the
   * StoreError is `refused`, this operation itself is the cause. If it is `unknown`, the operation may have been
   * written, or may be written later, and `apply` is not called.
   */
  submit(operation: Operation, apply: (revision: number) => void = () => undefined): Promise<Outcome> {
    return new Promise((settle, fail) => this.begin({ operation, apply, settle, fail }));
  }

  /**
   * Submits an operation like {@link submit}, but with functions of the caller instead of a promise, so that fewer
   * objects are allocated for each write.
   */
  begin(submission: Submission): void {
    if (this.#isClosed) return submission.fail(new StoreError('closed', 'no more writes are accepted'));
    if (this.#queued >= this.#options.maxQueued) {
      const message = `${this.#queued} writes are waiting; try again later`;
      return submission.fail(new ApiError('TooManyRequests', message, { retryAfterSeconds: 1 }));
    }
    const { operation } = submission;
    const tokens = operation.unique === undefined ? [operation.key] : tokensOf(operation);
    const entry: Entry = { submission, tokens, required: noRequirements, successors: undefined, blockers: 0 };
    for (const token of tokens) {
      const tail = this.#tails.get(token);
      if (tail !== undefined) block(entry, tail);
      if (this.#requirements.size > 0) this.#awaitRequiring(entry, token);
      this.#tails.set(token, entry);
    }
    if (operation.requires !== undefined) this.#require(entry, operation.requires);
    this.#queued += 1;
    if (entry.blockers === 0) this.#ready.push(entry);
    this.#sendReady(this.#ready.length >= this.#enough);
  }

  /** Returns true while the store is writing a batch, or the results of a batch are not delivered yet. */
  isCommitting(): boolean {
    return this.#inFlight + this.#unanswered > 0;
  }

  isIdle(): boolean {
    return this.#inFlight + this.#unanswered + this.#queued === 0;
  }

  /** Resolves as soon as no operation is queued or in flight, and all results are delivered. */
  drain(): Promise<void> {
    if (this.isIdle()) return Promise.resolve();
    return new Promise((resolve) => this.#drained.push(resolve));
  }

  /** Accepts no more operations, and resolves when all accepted ones are settled. The store stays open. */
  close(): Promise<void> {
    this.#isClosed = true;
    return this.drain();
  }

  #awaitRequiring(entry: Entry, claim: string): void {
    const requirement = this.#requirements.get(claim);
    if (requirement === undefined) return;
    requirement.waiting.push(entry);
    entry.blockers += 1;
    this.#requirements.delete(claim);
  }

  #require(entry: Entry, required: readonly RequiredClaim[]): void {
    entry.required = required.map((each) => {
      const claim = requiredTokenOf(each);
      const tail = this.#tails.get(claim);
      if (tail !== undefined && tail !== entry) block(entry, tail);
      let requirement = this.#requirements.get(claim);
      if (requirement === undefined) {
        requirement = { claim, requiring: 0, waiting: [] };
        this.#requirements.set(claim, requirement);
      }
      requirement.requiring += 1;
      return requirement;
    });
  }

  /**
   * Sends a batch to the store, if operations are ready and the limits allow it: one batch may be in flight, and the
   * results of at most two batches may be undelivered. Because of the second limit, a replica whose memory lags behind
   * catches up before it commits more writes. Unless `isNow` is true, the batch is sent at the end of the turn of the
   * event loop. So all requests that were read in the turn share one commit and one message to the store. When each
   * message had only one or two operations, the messages took a tenth of the time of a creation over HTTP. `answered`
   * is the number of operations whose results are being delivered: their callers will probably submit as many again.
   */
  #sendReady(isNow: boolean, answered = 0): void {
    if (this.#ready.length === 0 || this.#inFlight > 0 || this.#unanswered >= maxUnanswered) return;
    if (isNow) return void this.#send(Math.max(this.#enough, Math.ceil((this.#queued + answered) / 2)));
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#endTurn);
  }

  readonly #endTurn = (): void => {
    this.#isScheduled = false;
    this.#sendReady(true);
  };

  async #send(share: number): Promise<void> {
    const batch = this.#takeBatch(share);
    this.#inFlight = batch.length;
    let committed: Committed;
    try {
      committed = await this.#write(batch);
    } catch (error) {
      return this.#onFailed(batch, error);
    }
    this.#inFlight = 0;
    // The results of a small batch are delivered before the next batch is sent, because no operation is ready for the
    // next batch. The writes that callers submit after these few results are sent at the end of the turn.
    const isSmall = batch.length < enough && this.#ready.length === 0 && this.#unanswered === 0;
    if (isSmall && this.#options.follow === undefined) {
      this.#answer(batch, committed.outcomes);
      return this.#goOn();
    }
    this.#unanswered += 1;
    // The store writes the next batch while the results of this one are delivered (with 256 concurrent creations:
    // 20,000/s instead of 14,000/s).
    this.#sendReady(true, batch.length);
    this.#answered = this.#answerInTurn(batch, committed, isSmall ? undefined : nextTurn());
  }

  /**
   * Takes the operations of the next batch, at most `share`. With many writers, `share` is half of the writers'
   * operations, so that the results of one half are delivered during the commit of the other half.
   */
  #takeBatch(share: number): Entry[] {
    const { maxOperations, maxBytes } = this.#options;
    const limit = Math.min(maxOperations, share);
    let count = 0;
    let size = 0;
    for (; count < this.#ready.length && count < limit; count += 1) {
      size += this.#ready[count]?.submission.operation.data?.byteLength ?? 0;
      if (size > maxBytes && count > 0) break;
    }
    this.#queued -= count;
    // `splice` moves the remaining pointers in the array. This is cheap, because there are at most 10,000.
    return this.#ready.splice(0, count);
  }

  async #answerInTurn(batch: readonly Entry[], { before, outcomes }: Committed, turn?: Promise<void>): Promise<void> {
    await this.#answered;
    // Unless the batch is small, its results are delivered in another turn of the event loop. Without this pause, no
    // other work would run when a fast store already has its next response.
    if (turn !== undefined) await turn;
    await this.#options.follow?.(before);
    this.#apply(batch, outcomes);
    let left = maxSettled;
    for (const [position, entry] of batch.entries()) {
      if (left === 0) left = await nextTurn().then(() => maxSettled);
      // Refusals do not count toward the limit of results per turn, so that they are delivered together. Most refused
      // writes are planned again immediately. If several plans in the same turn need the revision of the database, one
      // read of the revision serves all of them.
      if (settleEntry(entry, outcomes[position])) left -= 1;
    }
    this.#unanswered -= 1;
    this.#goOn();
  }

  #answer(batch: readonly Entry[], outcomes: readonly Outcome[]): void {
    this.#apply(batch, outcomes);
    for (const [position, entry] of batch.entries()) settleEntry(entry, outcomes[position]);
  }

  async #onFailed(batch: readonly Entry[], error: unknown): Promise<void> {
    // Revisions are applied in order, so a failed batch waits until the results of the previous batches are delivered.
    await this.#answered;
    await this.#fail(batch, error);
    this.#inFlight = 0;
    this.#goOn();
  }

  /**
   * Handles a batch that has failed as a whole. If the store has refused it, writes each half separately, and so finds
   * a single refused operation in a few commits.
   */
  async #fail(batch: readonly Entry[], error: unknown): Promise<void> {
    if (batch.length > 1 && storeErrorCodeOf(error) === 'refused') {
      const middle = batch.length >> 1;
      await this.#retry(batch.slice(0, middle));
      await this.#retry(batch.slice(middle));
      return;
    }
    this.#apply(batch, noOutcomes);
    for (const { submission } of batch) submission.fail(error);
  }

  async #retry(half: readonly Entry[]): Promise<void> {
    try {
      const { before, outcomes } = await this.#write(half);
      await this.#options.follow?.(before);
      this.#answer(half, outcomes);
    } catch (error) {
      await this.#fail(half, error);
    }
  }

  #write(batch: readonly Entry[]): Promise<Committed> {
    const operations: Operation[] = [];
    for (const { submission } of batch) operations.push(submission.operation);
    return this.#store.commit(operations);
  }

  #goOn(): void {
    this.#sendReady(false);
    if (this.#inFlight + this.#unanswered + this.#queued > 0) return;
    this.#options.onIdle?.();
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  /** Calls `apply` of each written operation, by revision. Then unblocks the operations that wait for this batch. */
  #apply(batch: readonly Entry[], outcomes: readonly Outcome[]): void {
    for (const position of inOrder(outcomes)) {
      const outcome = outcomes[position];
      if (outcome === undefined || !('revision' in outcome)) continue;
      try {
        batch[position]?.submission.apply(outcome.revision);
      } catch (error) {
        this.#options.onError(error);
      }
    }
    for (const entry of batch) {
      for (const token of entry.tokens) if (this.#tails.get(token) === entry) this.#tails.delete(token);
      for (const requirement of entry.required) this.#endRequirement(requirement);
      for (const successor of entry.successors ?? noEntries) this.#unblock(successor);
    }
    this.#sendReady(false);
  }

  #endRequirement(requirement: Requirement): void {
    requirement.requiring -= 1;
    if (requirement.requiring > 0) return;
    const { claim, waiting } = requirement;
    if (this.#requirements.get(claim) === requirement) this.#requirements.delete(claim);
    for (const entry of waiting) this.#unblock(entry);
  }

  #unblock(entry: Entry): void {
    entry.blockers -= 1;
    if (entry.blockers === 0) this.#ready.push(entry);
  }
}

const noEntries: readonly Entry[] = [];
const noRequirements: readonly Requirement[] = [];
const noOutcomes: readonly Outcome[] = [];

/** Delivers the result of an operation. Returns true when the operation was written. */
function settleEntry({ submission }: Entry, outcome: Outcome | undefined): boolean {
  if (outcome) submission.settle(outcome);
  else submission.fail(new StoreError('crashed', 'the store returned no outcome'));
  return outcome !== undefined && 'revision' in outcome;
}

/**
 * Returns the positions of the written operations, in the order of their revisions. In most stores, this is also the
 * order of the operations.
 */
function inOrder(outcomes: readonly Outcome[]): readonly number[] {
  const positions: number[] = [];
  const revisions: number[] = [];
  let last = 0;
  let isSorted = true;
  for (const [position, outcome] of outcomes.entries()) {
    if (!('revision' in outcome)) continue;
    positions.push(position);
    revisions[position] = outcome.revision;
    isSorted &&= outcome.revision > last;
    last = outcome.revision;
  }
  return isSorted ? positions : positions.sort((a, b) => (revisions[a] ?? 0) - (revisions[b] ?? 0));
}

/** Makes an entry wait until the outcome of an earlier one is known. */
function block(entry: Entry, before: Entry): void {
  (before.successors ??= []).push(entry);
  entry.blockers += 1;
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
