import { replaceTurnClock } from './next-turn.ts';

/** At least the time of a turn. */
const stepMs = 5;

let readings = 0;

/**
 * Makes each step of long work use up its turn of the event loop in the tests of this `describe`, so that the number of turns
 * is the number of steps on every machine.
 */
export function oneStepPerTurn(): void {
  let restore: () => void;

  beforeEach(() => {
    // The queue exists longer than the test, so its time must not go back.
    let nowMs = performance.now();
    restore = replaceTurnClock(() => {
      readings += 1;
      return (nowMs += stepMs);
    });
  });

  afterEach(() => restore());
}

/** Resolves with the number of turns of the event loop until the work is done: 1 if it never yields. */
export async function turnsOf(work: () => unknown): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  count();
  await work();
  isOver = true;
  return turns;
}

/**
 * Resolves with the number of readings of the clock of {@link oneStepPerTurn} meanwhile: at least one for each step. Unlike turns of the
 * event loop, they do not include the time that the work waits for a disk.
 */
export async function readingsOf(work: () => unknown): Promise<number> {
  const before = readings;
  await work();
  return readings - before;
}
