/** Thrown when a part cannot be made, with the reason for people. Nothing was written. */
export class ScaffoldError extends Error {
  override readonly name = 'ScaffoldError';
}
