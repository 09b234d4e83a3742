import { ApiError } from '@homeostat/controller-runtime/api';

/**
 * Counts the memory of holders, such as requests. All holders together have one limit, and the holders of one client
 * may take at most half of it.
 */
export class SharedMemory<Holder extends object> {
  readonly #maxBytes: number;
  readonly #refusal: string;
  readonly #bound: MemoryBound<Holder>;
  readonly #clients = new WeakMap<Holder, string>();
  /** For each client whose holders of memory are counted: a counter of only these holders, with the client's limit. */
  readonly #boundOf = new Map<string, MemoryBound<Holder>>();

  /** Creates a counter. `refusal` is the message of the error that is thrown beyond the limit. */
  constructor(maxBytes: number, refusal: string) {
    this.#maxBytes = maxBytes;
    this.#refusal = refusal;
    this.#bound = new MemoryBound(maxBytes, refusal);
  }

  /**
   * Sets the client of a holder of memory, such as a request. `client` is a text, such as the client's block of IP
   * addresses. Must be called before the holder's bytes are counted. For a holder without a client, only the limit for
   * all holders applies.
   */
  nameClient(holder: Holder, client: string): void {
    this.#clients.set(holder, client);
  }

  /** Returns the bytes that are counted for a holder of memory, such as a request; undefined without a count. */
  of(holder: Holder): number | undefined {
    return this.#bound.of(holder);
  }

  /**
   * Sets the number of bytes that are counted for a holder, such as a request. Two limits apply: one for all holders
   * together, and half of it for the holders of one client. Each limit accepts any number of bytes from a holder while
   * no other holder counts against the same limit.
   * @throws ApiError ServiceUnavailable, with Retry-After, when the holder would exceed one of the limits
   */
  hold(holder: Holder, bytes: number): void {
    this.#ownOf(holder)?.check(holder, bytes);
    this.#bound.check(holder, bytes);
    this.count(holder, bytes);
  }

  /** Sets the number of bytes that are counted for a holder, such as a request, even if they exceed the limits. */
  count(holder: Holder, bytes: number): void {
    this.#bound.count(holder, bytes);
    const client = this.#clients.get(holder);
    if (client !== undefined) (this.#boundOf.get(client) ?? this.#newBound(client)).count(holder, bytes);
  }

  release(holder: Holder): void {
    this.#bound.release(holder);
    const own = this.#ownOf(holder);
    own?.release(holder);
    const client = this.#clients.get(holder);
    if (client !== undefined && own?.isEmpty === true) this.#boundOf.delete(client);
  }

  #ownOf(holder: Holder): MemoryBound<Holder> | undefined {
    const client = this.#clients.get(holder);
    return client === undefined ? undefined : this.#boundOf.get(client);
  }

  #newBound(client: string): MemoryBound<Holder> {
    const message = `${this.#refusal}: one client address may use half of this memory`;
    const bound = new MemoryBound<Holder>(this.#maxBytes / 2, message);
    this.#boundOf.set(client, bound);
    return bound;
  }
}

/** Counts the memory of all holders, which are requests or other objects that use memory, up to a limit. */
class MemoryBound<Holder extends object> {
  readonly #maxBytes: number;
  readonly #refusal: string;
  readonly #bytesOf = new Map<Holder, number>();
  #bytes = 0;

  /** Creates a counter. `refusal` is the message of the error that is thrown beyond the limit. */
  constructor(maxBytes: number, refusal: string) {
    this.#maxBytes = maxBytes;
    this.#refusal = refusal;
  }

  /** True when no holder is counted. */
  get isEmpty(): boolean {
    return this.#bytesOf.size === 0;
  }

  /** Returns the bytes that are counted for a holder of memory, such as a request; undefined without a count. */
  of(holder: Holder): number | undefined {
    return this.#bytesOf.get(holder);
  }

  /**
   * Checks that a holder of memory, such as a request, may have this many bytes. While no other holder has memory, the
   * holder may have any number of bytes.
   * @throws ApiError ServiceUnavailable, with Retry-After, when these bytes and those of the other holders exceed the
   * limit
   */
  check(holder: Holder, bytes: number): void {
    const others = this.#bytes - (this.#bytesOf.get(holder) ?? 0);
    if (others > 0 && others + bytes > this.#maxBytes) {
      throw new ApiError('ServiceUnavailable', this.#refusal, { retryAfterSeconds: 1 });
    }
  }

  /** Sets the number of bytes that are counted for a holder, such as a request, even if they exceed the limit. */
  count(holder: Holder, bytes: number): void {
    this.#bytes += bytes - (this.#bytesOf.get(holder) ?? 0);
    this.#bytesOf.set(holder, bytes);
  }

  release(holder: Holder): void {
    this.#bytes -= this.#bytesOf.get(holder) ?? 0;
    this.#bytesOf.delete(holder);
  }
}
