import type { ServerResponse } from 'node:http';
import { MemoryBound } from '../../limits/memory-bound.ts';

/** Smaller responses are not counted: a connection has one at a time. */
export const leastCounted: number = 64 * 1024;

const refusal = 'the answers that clients have yet to read take too much memory, please try again later';

/** The memory that answers take until their clients have read them, or have gone. All answers share one bound. */
export class AnswerMemory {
  readonly #bound: MemoryBound<ServerResponse>;

  constructor(maxBytes: number) {
    this.#bound = new MemoryBound(maxBytes, refusal);
  }

  /**
   * Counts the bytes of an answer until its response is closed; called before they are made. A later call for the same
   * response can only raise its count. The bound does not refuse an answer that is the only one.
   * @throws ApiError ServiceUnavailable, with Retry-After, when they and the other answers exceed the bound
   */
  hold(response: ServerResponse, bytes: number): void {
    if (bytes >= leastCounted) this.#raise(response, bytes, () => this.#bound.hold(response, bytes));
  }

  /** The same without a refusal: for the answer to a write that has been done. */
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
