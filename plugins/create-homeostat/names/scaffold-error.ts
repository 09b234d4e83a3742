/** Thrown when a plugin or a part cannot be created. The message tells the user the reason. No file was written. */
export class ScaffoldError extends Error {
  override readonly name = 'ScaffoldError';
}
