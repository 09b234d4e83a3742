import { replaceTurnClock } from './next-turn.ts';

/** The time of each step by the test clock: as much as all steps of one turn of the event loop may take. */
const stepMs = 5;

let readings = 0;

/**
 * In the tests of this `describe`, makes each step of long work use up a whole turn of the event loop. So the number of
 * turns equals the number of steps on every machine.
 */
export function oneStepPerTurn(): void {
  let restore: () => void;

  beforeEach(() => {
    // The queue of the steps that wait for a turn has already read the real clock. The test clock starts at the real
    // time, so that the queue never reads an earlier time than before.
    let nowMs = performance.now();
    restore = replaceTurnClock(() => {
      readings += 1;
      return (nowMs += stepMs);
    });
  });

  afterEach(() => restore());
}

/** Resolves with the number of turns of the event loop that the work takes: 1 if it never yields. */
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
 * Resolves with the number of times that the clock of {@link oneStepPerTurn} is read during the work: at least once for
 * each step. Unlike the number of turns, this does not depend on the time that the work waits for a disk.
 */
export async function readingsOf(work: () => unknown): Promise<number> {
  const before = readings;
  await work();
  return readings - before;
}
