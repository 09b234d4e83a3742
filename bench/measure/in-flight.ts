import { figuresOf } from './figures.ts';
import type { Figures } from './figures.ts';

export interface InFlight {
  /** The total number of operations. */
  readonly count: number;
  /** The number of operations at the same time. */
  readonly width: number;
  readonly operation: (position: number) => Promise<unknown>;
}

export interface InFlightFigures extends Figures {
  /**
   * The average number of operations that ended in one turn of the event loop. The responses of one commit come
   * together, so for writes, this is the number of writes in a commit.
   */
  readonly perTurn: number;
}

/** Runs `count` operations, of which at most `width` are in progress at the same time. */
export async function runInFlight({ count, width, operation }: InFlight): Promise<InFlightFigures> {
  const latencies = new Float64Array(count);
  let next = 0;
  let turns = 0;
  let isTurnCounted = false;
  const countTurn = (): void => {
    if (isTurnCounted) return;
    isTurnCounted = true;
    turns += 1;
    setImmediate(() => (isTurnCounted = false));
  };
  const work = async (): Promise<void> => {
    while (next < count) {
      const position = next++;
      const startMs = performance.now();
      await operation(position);
      latencies[position] = performance.now() - startMs;
      countTurn();
    }
  };
  const startMs = performance.now();
  await Promise.all(Array.from({ length: width }, work));
  return { ...figuresOf(latencies, performance.now() - startMs), perTurn: count / turns };
}
