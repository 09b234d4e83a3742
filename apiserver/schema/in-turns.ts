/**
 * Runs work to its end in several turns of the event loop, so that others get theirs. Each `yield` says how many units of work
 * were done since the one before; a turn ends once it has done `unitsPerTurn`. Rejects with what the work throws.
 */
export async function inTurns<T>(work: Generator<number, T>, unitsPerTurn: number): Promise<T> {
  let done = 0;
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    done += step.value;
    if (done < unitsPerTurn) continue;
    done = 0;
    await nextTurn();
  }
}

/** Resolves in the next turn of the event loop. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The same work without a pause. */
export function atOnce<T>(work: Generator<number, T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}
