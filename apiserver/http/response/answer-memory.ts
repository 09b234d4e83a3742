import type { ServerResponse } from 'node:http';
import { MemoryBound } from '../../limits/memory-bound.ts';

/** Smaller responses are not counted: a connection has one at a time. */
export const leastCounted: number = 64 * 1024;

const refusal = 'the responses that clients have not read yet take too much memory, please try again later';

/** The memory of responses until their clients have read them or have disconnected. All responses share one bound. */
export class AnswerMemory {
  readonly #bound: MemoryBound<ServerResponse>;

  constructor(maxBytes: number) {
    this.#bound = new MemoryBound(maxBytes, refusal);
  }

  /**
   * Counts the bytes of a response until it is closed; called before the bytes are made. A later call for the same
   * response can only raise its count. A response that is the only one is never refused.
   * @throws ApiError ServiceUnavailable, with Retry-After, when this and the other responses exceed the bound
   */
  hold(response: ServerResponse, bytes: number): void {
    if (bytes >= leastCounted) this.#raise(response, bytes, () => this.#bound.hold(response, bytes));
  }

  /** The same without a refusal, for the response to a write that is already done. */
  count(response: ServerResponse, bytes: number): void {
    this.#raise(response, bytes, () => this.#bound.count(response, bytes));
  }

  #raise(response: ServerResponse, bytes: number, raise: () => void): void {
    const held = this.#bound.of(response);
    if (response.closed || bytes <= (held ?? 0)) return;
    raise();
    if (held === undefined) response.once('close', () => this.#bound.release(response));
  }
}
