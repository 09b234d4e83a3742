/** A controller, a cache or a runnable that the manager runs. */
export interface Part {
  readonly abort: AbortController;
  readonly stopped: Promise<void>;
}

/** Starts a controller, a cache or a runnable. `run` must not reject. */
export function startPart(run: (signal: AbortSignal) => Promise<void>): Part {
  const abort = new AbortController();
  return { abort, stopped: run(abort.signal) };
}

export async function stopPart({ abort, stopped }: Part): Promise<void> {
  abort.abort();
  await stopped;
}

export async function stopParts(parts: Iterable<Part>): Promise<void> {
  await Promise.all([...parts].map(stopPart));
}
