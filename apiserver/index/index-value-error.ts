/**
 * An error for an object whose values an index cannot compute: the index function threw, or returned something other
 * than strings, or returned several values for an index with one value. A write of such an object is refused (422).
 */
export class IndexValueError extends Error {
  override readonly name = 'IndexValueError';
  /** The name of the index. */
  readonly index: string;

  constructor(index: string, message: string, options?: { readonly cause: unknown }) {
    super(message, options);
    this.index = index;
  }
}
