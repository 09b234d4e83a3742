/**
 * An error that a retry cannot fix. Check it with {@link isTerminal}, since a plugin may bring a second copy of this
 * class.
 */
class TerminalError extends Error {
  override readonly name = 'TerminalError';
}

/**
 * The error to throw when a retry cannot help: `throw terminal('spec.team names no team')`. The key is parked until its
 * object, one of its dependents, or an object that maps to the key changes. A slot of the schedule and a manual request
 * also release the key. The key keeps the number of its earlier failures, which determines its next back-off.
 */
export function terminal(message: string, options?: { readonly cause?: unknown }): Error {
  return new TerminalError(message, options);
}

export function isTerminal(error: unknown): boolean {
  return error instanceof Error && error.name === 'TerminalError';
}
