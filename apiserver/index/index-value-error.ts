/** An index function threw, or answered with what is no string; nothing was stored (422 on the wire). */
export class IndexValueError extends Error {
  override readonly name = 'IndexValueError';
  /** Name of the index. */
  readonly index: string;

  constructor(index: string, message: string, options?: { readonly cause: unknown }) {
    super(message, options);
    this.index = index;
  }
}
