export interface Call {
  readonly id: number;
  readonly name: string;
  readonly argument: unknown;
}

export interface Reply {
  readonly id: number;
  readonly value?: unknown;
  /** The stack of the error; absent when the call succeeded. */
  readonly error?: string;
}

/** The functions of a child process that its parent can call, by name. Each function has one argument. */
export type Calls = Readonly<Record<string, (argument: never) => unknown>>;

/**
 * Handles the parent's calls until the parent ends the connection, or ends itself. `atEnd` releases resources that
 * would stay behind after the end of this process; most child processes have none.
 */
export function answerCalls(calls: Calls, atEnd: () => Promise<void> = async () => undefined): void {
  process.on('message', (message) => void answer(calls, message as Call));
  process.on('disconnect', () => void atEnd().then(() => process.exit()));
}

async function answer(calls: Calls, { id, name, argument }: Call): Promise<void> {
  process.send?.(await replyTo(calls, { id, name, argument }));
}

async function replyTo(calls: Calls, { id, name, argument }: Call): Promise<Reply> {
  try {
    return { id, value: await calls[name]?.(argument as never) };
  } catch (error) {
    return { id, error: error instanceof Error ? String(error.stack) : String(error) };
  }
}
