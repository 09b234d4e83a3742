import { join } from 'node:path';
import type { CaseContext } from '../case.ts';
import { Child } from '../child.ts';
import type { Figures } from '../figures.ts';
import type { Row } from '../result-table.ts';
import { alternate } from '../rounds.ts';

/** Objects that reconcile once a second. */
const keys = 1_000;

/** 3% of a core. */
const mostMs = 30;

/** What does it cost to record runs? Processor time of all threads, by turns. */
export async function runs({ settings, folder }: CaseContext): Promise<readonly Row[]> {
  const { rounds, seconds } = settings;
  await using child = new Child('reconciler');
  await child.call('serve', `sqlite:${join(folder, 'runs.db')}`);
  await child.call('fill', keys);
  const measured = (isReported: boolean) => (): Promise<Figures> =>
    child.call<Figures>('runPaced', { seconds: seconds * 2, isReported });
  const found = await alternate(rounds, { ours: measured(true), limit: measured(false) });
  const moreMs = found.ours.p50Ms - found.limit.p50Ms;
  const target = { text: `at most ${mostMs.toString()} ms/s more`, isMet: moreMs <= mostMs };
  const note = `p50 is the processor time of a second in ms: ${moreMs.toFixed(1)} ms more to record runs`;
  return [{ name: 'recorded runs', ...found, target, note }];
}
