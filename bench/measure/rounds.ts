import { medianFigures } from './figures.ts';
import type { Figures } from './figures.ts';

/** Runs one round of one of the programs that a benchmark compares, and resolves with the figures of the round. */
export type Contestant = () => Promise<Figures>;

/**
 * Runs the contestants alternately, in the order A B B A, so that other load on the machine affects all of them.
 * Returns the median figures of each one. The first round of each does not count, because code is still being compiled
 * and caches are empty.
 */
export async function alternate<Name extends string>(
  rounds: number,
  contestants: Readonly<Record<Name, Contestant>>,
): Promise<Readonly<Record<Name, Figures>>> {
  const found = Object.entries<Contestant>(contestants).map(([name, run]) => ({ name, run, figures: [] as Figures[] }));
  for (let round = 0; round <= rounds; round += 1) {
    for (const { run, figures } of round % 2 === 0 ? found : found.toReversed()) {
      const measured = await run();
      if (round > 0) figures.push(measured);
    }
  }
  return Object.fromEntries(found.map(({ name, figures }) => [name, medianFigures(figures)])) as Record<Name, Figures>;
}
