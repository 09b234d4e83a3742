import { ApiError, formatLeaderEpoch, type LeaderEpoch } from '../api/index.ts';

/** The term of this process as the leader. It begins with the election. */
export class Term {
  readonly epoch: LeaderEpoch;
  readonly #over = new AbortController();

  constructor(epoch: LeaderEpoch) {
    this.epoch = epoch;
  }

  /** Aborts when the lease is lost or released. The reason of the abort is the error that names the cause. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Ends the term, because the lease is lost or released. Only the first reason counts. */
  end(why: string, cause?: unknown): void {
    if (!this.#over.signal.aborted) this.#over.abort(leaseLost(this.epoch, why, cause));
  }

  /** @throws ApiError Conflict with the cause FormerLeader, once the term is over. */
  check(): void {
    this.#over.signal.throwIfAborted();
  }
}

function leaseLost(epoch: LeaderEpoch, why: string, cause: unknown): ApiError {
  const message = `the lease "${epoch.namespace}/${epoch.name}" is lost: ${why} (term ${formatLeaderEpoch(epoch)})`;
  return new ApiError('Conflict', message, { causes: [{ reason: 'FormerLeader', message }], cause });
}
