import type { IncomingMessage, ServerResponse } from 'node:http';
import { SharedMemory } from '../limits/shared-memory.ts';

/** A request, and the response to it. */
export interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
}

/**
 * The minimum size, in bytes, of a body that counts toward the limit of {@link BodyMemory}. All smaller bodies of a
 * process together take at most about 160 MB.
 */
const leastCounted = 16 * 1024;

/**
 * The maximum total size, in bytes, of the request bodies of 16 KiB or more, over all requests in progress. These
 * bodies take up to ten times as much memory, because the text of a body, and its value, are in memory until the write
 * is done.
 */
const defaultMaxBytes = 64 * 1024 * 1024;

const refusal = 'the bodies of requests in progress take too much memory, please try again later';

/**
 * Counts the memory of request bodies, from their arrival until the requests end. All bodies share one limit; the
 * bodies of one client may take half of it.
 */
export class BodyMemory {
  readonly #memory: SharedMemory<IncomingMessage>;

  constructor(maxBytes: number = defaultMaxBytes) {
    this.#memory = new SharedMemory(maxBytes, refusal);
  }

  /**
   * Sets the client of a request, such as its block of IP addresses. For a request without a client, only the limit for
   * all bodies applies.
   */
  nameClient(request: IncomingMessage, client: string): void {
    this.#memory.nameClient(request, client);
  }

  /**
   * Sets the number of bytes that are counted for a request's body. The number replaces an earlier one, and is counted
   * until the request is {@link release released}. A request for which {@link counts} is false is not counted. Nor is a
   * number below 16 KiB, unless it replaces an earlier one.
   * @throws ApiError ServiceUnavailable, with Retry-After, when all bodies together exceed the limit, or the bodies of
   * the same client exceed half of it
   */
  hold(request: IncomingMessage, bytes: number): void {
    if (!this.counts(request) || (bytes < leastCounted && this.#memory.of(request) === undefined)) return;
    this.#memory.hold(request, bytes);
  }

  release(request: IncomingMessage): void {
    this.#memory.release(request);
  }

  /**
   * False for a request without a body, or with a body that is too small to be counted. Such a request need not be
   * released.
   */
  counts({ headers }: IncomingMessage): boolean {
    const length = headers['content-length'];
    if (length === undefined) return headers['transfer-encoding'] !== undefined;
    return Number(length) >= leastCounted || headers['content-encoding'] !== undefined;
  }
}
