import type { IncomingMessage, ServerResponse } from 'node:http';
import { SharedMemory } from '../limits/shared-memory.ts';

/** A request, and the response to it. */
export interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
}

/**
 * The minimum number of bytes of a counted body: smaller ones of all connections of a process take at most about 160
 * MB.
 */
const leastCounted = 16 * 1024;

/**
 * The maximum number of bytes of all bodies in flight. The text of a body, and its value until the write is done,
 * take up to ten times as much.
 */
const defaultMaxBytes = 64 * 1024 * 1024;

const refusal = 'the bodies of requests that are under way take too much memory, please try again later';

/**
 * The memory of request bodies, from their arrival until the requests are over. All bodies share one limit; those of
 * one client may take half of it.
 */
export class BodyMemory {
  readonly #memory: SharedMemory<IncomingMessage>;

  constructor(maxBytes: number = defaultMaxBytes) {
    this.#memory = new SharedMemory(maxBytes, refusal);
  }

  /**
   * Sets the client of a request, such as the block of its address. Without a client, only the limit for all bodies
   * applies.
   */
  nameClient(request: IncomingMessage, client: string): void {
    this.#memory.nameClient(request, client);
  }

  /**
   * Counts the bytes of a request's body, which replace those that were counted for it before. They stay counted until
   * the request is {@link release released}. A request for which {@link counts} is false is not counted.
   * @throws ApiError ServiceUnavailable, with Retry-After, when all bodies together exceed the limit, or those of the
   * same client exceed half of it
   */
  hold(request: IncomingMessage, bytes: number): void {
    if (!this.counts(request) || (bytes < leastCounted && this.#memory.of(request) === undefined)) return;
    this.#memory.hold(request, bytes);
  }

  release(request: IncomingMessage): void {
    this.#memory.release(request);
  }

  /** False for a request without a body, or with one that is too small to be counted: it needs no release. */
  counts({ headers }: IncomingMessage): boolean {
    const length = headers['content-length'];
    if (length === undefined) return headers['transfer-encoding'] !== undefined;
    return Number(length) >= leastCounted || headers['content-encoding'] !== undefined;
  }
}
