export interface Call {
  readonly id: number;
  readonly name: string;
  readonly argument: unknown;
}

export interface Reply {
  readonly id: number;
  readonly value?: unknown;
  /** The stack of the error. */
  readonly error?: string;
}

/** The functions of a child that its parent can call, by name; each has one argument. */
export type Calls = Readonly<Record<string, (argument: never) => unknown>>;

/**
 * Serves the parent's calls until the parent is done or gone. Most children need no orderly end; `atEnd` releases
 * resources that would be left behind.
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
