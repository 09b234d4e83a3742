import { ApiError } from '@homeostat/controller-runtime/api';
import type { Clock, Timer } from '@homeostat/controller-runtime/api';
import { badRequest } from './resource-errors.ts';

/** How long a read waits for a revision that is not here yet, as in Kubernetes. */
const reachTimeoutMs = 3_000;

interface Waiter {
  readonly revision: number;
  readonly resolve: () => void;
}

/** The revision that memory has reached, and who waits for a later one. */
export class Revisions {
  readonly #clock: Clock;
  readonly #waiters = new Set<Waiter>();
  #current: number;

  constructor(clock: Clock, start: number) {
    this.#clock = clock;
    this.#current = start;
  }

  get current(): number {
    return this.#current;
  }

  /** Memory has this revision now. */
  advance(revision: number): void {
    this.#current = revision;
    for (const waiter of this.#waiters) {
      if (waiter.revision <= revision) waiter.resolve();
    }
  }

  /** Resolves once memory is not older than `text`; 400 when that is no number, 504 when it does not come in time. */
  async reach(text: string): Promise<void> {
    const revision = parseRevision(text);
    if (revision <= this.#current) return;
    let timer: Timer | undefined;
    let waiter: Waiter | undefined;
    const reached = await new Promise<boolean>((resolve) => {
      waiter = { revision, resolve: () => resolve(true) };
      this.#waiters.add(waiter);
      timer = this.#clock.setTimeout(() => resolve(false), reachTimeoutMs);
    });
    this.#clock.clearTimeout(timer);
    if (waiter !== undefined) this.#waiters.delete(waiter);
    if (!reached) throw tooLarge(revision, this.#current);
  }
}

/** 0 for the empty string; 400 for what is no decimal number below 2^53. */
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
