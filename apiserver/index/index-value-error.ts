/** An index function threw, or returned something other than strings; nothing was stored (422 for clients). */
export class IndexValueError extends Error {
  override readonly name = 'IndexValueError';
  /** Name of the index. */
  readonly index: string;

  constructor(index: string, message: string, options?: { readonly cause: unknown }) {
    super(message, options);
    this.index = index;
  }
}
