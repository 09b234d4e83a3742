/** Thrown when a part cannot be made; the message says why, for people. Nothing was written. */
export class ScaffoldError extends Error {
  override readonly name = 'ScaffoldError';
}
