import { ApiError } from '@homeostat/controller-runtime/api';
import type { Clock, Timer } from '@homeostat/controller-runtime/api';
import { badRequest, unreadable } from '../object/resource-errors.ts';
import type { Compactor } from './compactor.ts';

/** The maximum time for which a read waits until memory has a revision; as in Kubernetes. */
const reachTimeoutMs = 3_000;

interface Waiter {
  readonly revision: number;
  readonly resolve: () => void;
}

export interface RevisionsParts {
  readonly clock: Clock;
  /** The revision that memory has reached when the server starts. */
  readonly start: number;
  /** The compactor, which counts the changes in the history. */
  readonly history: Pick<Compactor, 'record'>;
  /**
   * Returns the database's revision. Absent when no other process writes to the database: then memory is never behind.
   */
  readonly latest?: () => Promise<number>;
  /** Called with a revision that a caller waits for. */
  readonly onWanted?: (revision: number) => void;
}

/** The revision that memory has reached, and the callers that wait for a later one. */
export class Revisions {
  /** True when memory may be behind the writes of other processes. */
  readonly mayLag: boolean;
  readonly #parts: RevisionsParts;
  readonly #waiters = new Set<Waiter>();
  #current: number;

  constructor(parts: RevisionsParts) {
    this.#parts = parts;
    this.mayLag = parts.latest !== undefined;
    this.#current = parts.start;
  }

  get current(): number {
    return this.#current;
  }

  /**
   * Called when memory has reached a revision. If a change led to the revision, `bytes` is the size of the change in
   * the history.
   */
  advance(revision: number, bytes?: number): void {
    this.#current = revision;
    if (bytes !== undefined) this.#parts.history.record(revision, bytes);
    for (const waiter of this.#waiters) {
      if (waiter.revision <= revision) waiter.resolve();
    }
  }

  /**
   * Returns the promise for which a read has to wait, by the rules of Kubernetes for the parameter resourceVersion;
   * undefined when the read need not wait. With a number, it waits until memory has at least this revision; so with `0`
   * it never waits. Without the parameter, or with an empty one, it waits until memory has every write that any process
   * acknowledged before this call. Throws ApiError 400 for an invalid number. The promise rejects with ApiError: 504
   * when memory does not reach the revision in time, 503 when the database does not return its revision.
   */
  reach(resourceVersion: string | undefined): Promise<void> | undefined {
    if (resourceVersion === undefined || resourceVersion === '') return this.mayLag ? this.#reachLatest() : undefined;
    const revision = parseRevision(resourceVersion);
    return revision <= this.#current ? undefined : this.#wait(revision);
  }

  async #reachLatest(): Promise<void> {
    const revision = await this.#latest();
    if (revision > this.#current) await this.#wait(revision);
  }

  async #latest(): Promise<number> {
    try {
      return (await this.#parts.latest?.()) ?? this.#current;
    } catch (error) {
      throw unreadable(error);
    }
  }

  async #wait(revision: number): Promise<void> {
    let timer: Timer | undefined;
    let waiter: Waiter | undefined;
    const reached = await new Promise<boolean>((resolve) => {
      waiter = { revision, resolve: () => resolve(true) };
      this.#waiters.add(waiter);
      timer = this.#parts.clock.setTimeout(() => resolve(false), reachTimeoutMs);
      this.#parts.onWanted?.(revision);
    });
    this.#parts.clock.clearTimeout(timer);
    if (waiter !== undefined) this.#waiters.delete(waiter);
    if (!reached) throw tooLarge(revision, this.#current);
  }
}

/**
 * Parses a resourceVersion. Returns 0 for the empty string. @throws ApiError BadRequest for a text that is not a
 * decimal number below 2^53
 */
export function parseRevision(text: string): number {
  if (text === '') return 0;
  const revision = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(revision)) {
    const value = JSON.stringify(text.slice(0, 64));
    throw badRequest(`resourceVersion: Invalid value: ${value}: must be a decimal number below 2^53`);
  }
  return revision;
}

function tooLarge(revision: number, current: number): ApiError {
  return new ApiError('Timeout', `Timeout: Too large resource version: ${revision}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });
}

/** The number of writes for which the user is remembered. */
const keptWriters = 16_384;

/**
 * The user of a write: `user` if the write was checked with the user's permissions, otherwise `author`. A write of the
 * server itself has neither.
 */
interface Writer {
  readonly user?: { readonly username: string } | undefined;
  readonly author?: { readonly username: string } | undefined;
}

/** The users who made the last writes of this process, by revision. The log does not store users. */
export class RecentWriters {
  readonly #revisions = new Float64Array(keptWriters);
  readonly #users: string[] = [];
  #count = 0;

  note(revision: number, { user, author }: Writer): void {
    const at = this.#count % keptWriters;
    this.#revisions[at] = revision;
    this.#users[at] = (user ?? author)?.username ?? 'system:apiserver';
    this.#count += 1;
  }

  /**
   * Returns the user who wrote a revision; undefined for a write of another process, and for a write that is too old.
   */
  of(revision: number): string | undefined {
    return this.#users[this.#revisions.indexOf(revision)];
  }
}
