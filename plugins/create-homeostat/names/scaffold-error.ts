/** Thrown when a part cannot be created. The message gives the reason for people; no file was written. */
export class ScaffoldError extends Error {
  override readonly name = 'ScaffoldError';
}
