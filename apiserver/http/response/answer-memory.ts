import type { ServerResponse } from 'node:http';
import { ApiError } from '@homeostat/controller-runtime/api';

/** Smaller responses are not counted: a connection has one at a time. */
export const leastCounted: number = 64 * 1024;

/** The memory that answers take until their clients have read them, or have gone. All answers share one bound. */
export class AnswerMemory {
  readonly #maxBytes: number;
  readonly #bytesOf = new Map<ServerResponse, number>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Counts the bytes of an answer until its response is closed; called before they are made. A later call for the same
   * response can only raise its count. The bound does not refuse an answer that is the only one.
   * @throws ApiError ServiceUnavailable, with Retry-After, when they and the other answers exceed the bound
   */
  hold(response: ServerResponse, bytes: number): void {
    if (bytes < leastCounted) return;
    const held = this.#bytesOf.get(response) ?? 0;
    const others = this.#bytes - held;
    if (others > 0 && others + bytes > this.#maxBytes) {
      const message = 'the answers that clients have yet to read take too much memory, please try again later';
      throw new ApiError('ServiceUnavailable', message, { retryAfterSeconds: 1 });
    }
    this.count(response, bytes);
  }

  /** The same without a refusal: for the answer to a write that has been done. */
  count(response: ServerResponse, bytes: number): void {
    const held = this.#bytesOf.get(response);
    if (response.closed || bytes <= (held ?? 0)) return;
    this.#bytes += bytes - (held ?? 0);
    this.#bytesOf.set(response, bytes);
    if (held === undefined) response.once('close', () => this.#release(response));
  }

  #release(response: ServerResponse): void {
    this.#bytes -= this.#bytesOf.get(response) ?? 0;
    this.#bytesOf.delete(response);
  }
}
