/**
 * The error of an index function that threw, or returned other values than strings. The object was not stored (422 for
 * clients).
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
