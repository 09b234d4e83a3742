import type { ServerResponse } from 'node:http';
import type { Context } from 'koa';
import { SharedMemory } from '../../limits/shared-memory.ts';
import { addressBlock } from '../request/address-block.ts';
import type { TrustedProxies } from '../request/trusted-proxies.ts';

/**
 * The number of bytes from which a response is counted. Smaller responses take little memory, because a connection has
 * one at a time.
 */
export const leastCounted: number = 64 * 1024;

const refusal = 'the responses that clients have not read yet take too much memory, please try again later';

/**
 * Counts the memory of responses until their clients have read them or have disconnected. All responses share one
 * limit; the responses to one client address may take half of it.
 */
export class AnswerMemory {
  readonly #memory: SharedMemory<ServerResponse>;
  readonly #proxies: TrustedProxies;

  constructor(maxBytes: number, proxies: TrustedProxies) {
    this.#memory = new SharedMemory(maxBytes, refusal);
    this.#proxies = proxies;
  }

  /**
   * Counts the bytes of a response until it is closed, if they are at least {@link leastCounted}. Call it before the
   * bytes are created, if their number is known. A later call for the same response can only increase its count.
   * While no other response is counted, a response may have any number of bytes. While no other response to the same
   * client address is counted, a response is refused only when all responses together exceed the limit.
   * @throws ApiError ServiceUnavailable, with Retry-After, when all responses together exceed the limit, or when all
   * responses to the same client address exceed half of it
   */
  hold(context: Context, bytes: number): void {
    if (bytes >= leastCounted) this.#raise(context, bytes, () => this.#memory.hold(context.res, bytes));
  }

  /** Counts the bytes like {@link hold}, but never throws. It is for the response to a write that is already done. */
  count(context: Context, bytes: number): void {
    this.#raise(context, bytes, () => this.#memory.count(context.res, bytes));
  }

  #raise(context: Context, bytes: number, raise: () => void): void {
    const { res: response } = context;
    const held = this.#memory.of(response);
    if (response.closed || bytes <= (held ?? 0)) return;
    if (held === undefined) this.#memory.nameClient(response, addressBlock(this.#proxies.addressOf(context)));
    raise();
    if (held === undefined) response.once('close', () => this.#memory.release(response));
  }
}
