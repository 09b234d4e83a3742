/** An error of a command, such as a mistake in its arguments or files. The message is for the user. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  /** The exit code: 2 for a wrong flag or argument, otherwise 1. */
  readonly exitCode: 1 | 2;

  constructor(message: string, exitCode: 1 | 2 = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}
