/** Returns what was thrown as an error: JavaScript can throw any value. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
