import { ApiError } from '@homeostat/controller-runtime/api';

/** Counts the memory that many holders share, and bounds it. */
export class MemoryBound<Holder extends object> {
  readonly #maxBytes: number;
  readonly #refusal: string;
  readonly #bytesOf = new Map<Holder, number>();
  #bytes = 0;

  /** `refusal`: the message of the error that is thrown beyond the bound. */
  constructor(maxBytes: number, refusal: string) {
    this.#maxBytes = maxBytes;
    this.#refusal = refusal;
  }

  /** True when nothing is counted. */
  get isEmpty(): boolean {
    return this.#bytesOf.size === 0;
  }

  /** Returns the bytes that are counted for a holder; undefined for none. */
  of(holder: Holder): number | undefined {
    return this.#bytesOf.get(holder);
  }

  /**
   * Counts the bytes of a holder, which replace those that were counted for it before. The bound never refuses a holder that is
   * the only one.
   * @throws ApiError ServiceUnavailable, with Retry-After, when they and those of the others exceed the bound
   */
  hold(holder: Holder, bytes: number): void {
    this.check(holder, bytes);
    this.count(holder, bytes);
  }

  /** Throws what {@link hold} would throw, and counts nothing. */
  check(holder: Holder, bytes: number): void {
    const others = this.#bytes - (this.#bytesOf.get(holder) ?? 0);
    if (others > 0 && others + bytes > this.#maxBytes) {
      throw new ApiError('ServiceUnavailable', this.#refusal, { retryAfterSeconds: 1 });
    }
  }

  /** Counts the bytes of a holder without a refusal. */
  count(holder: Holder, bytes: number): void {
    this.#bytes += bytes - (this.#bytesOf.get(holder) ?? 0);
    this.#bytesOf.set(holder, bytes);
  }

  release(holder: Holder): void {
    this.#bytes -= this.#bytesOf.get(holder) ?? 0;
    this.#bytesOf.delete(holder);
  }
}
