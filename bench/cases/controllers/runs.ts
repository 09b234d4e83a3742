import { join } from 'node:path';
import type { CaseContext } from '../../measure/case.ts';
import { Child } from '../../processes/child.ts';
import type { Figures } from '../../measure/figures.ts';
import type { Row } from '../../measure/result-table.ts';
import { alternate } from '../../measure/rounds.ts';
import type { Contestant } from '../../measure/rounds.ts';

/** The number of objects. Each one is reconciled once per second, or in the row `full rate` as often as possible. */
const keys = 1_000;

/** The maximum processor time that recording adds in a second with 1,000 runs: 30 ms, which is 3% of a core. */
const mostMs = 30;
const mostPercent = 3;

/**
 * Measures the cost of recording runs, as processor time of all threads. Rounds with and without recording alternate.
 */
export async function runs({ settings, folder }: CaseContext): Promise<readonly Row[]> {
  await using child = new Child('reconciler');
  await child.call('serve', `sqlite:${join(folder, 'runs.db')}`);
  await child.call('fill', keys);
  const measured = (isPaced: boolean, isReported: boolean) => (): Promise<Figures> =>
    child.call<Figures>('runRecorded', { seconds: settings.seconds * 2, isReported, isPaced });
  const contestants = (isPaced: boolean): Contestants => ({
    ours: measured(isPaced, true),
    limit: measured(isPaced, false),
  });
  return [
    pacedRow(await alternate(settings.rounds, contestants(true))),
    fullRateRow(await alternate(settings.rounds * 2, contestants(false))),
  ];
}

type Contestants = Readonly<Record<'ours' | 'limit', Contestant>>;
type Measured = Readonly<Record<'ours' | 'limit', Figures>>;

function pacedRow(found: Measured): Row {
  const moreMs = (found.ours.p50Ms - found.limit.p50Ms) * keys;
  const target = { text: `at most ${mostMs.toString()} ms/s more`, isMet: moreMs <= mostMs };
  const note = `p50 is the processor time of a run in ms. Records of runs add ${moreMs.toFixed(1)} ms in each second`;
  return { name: 'recorded runs', ...found, target, note };
}

function fullRateRow(found: Measured): Row {
  const more = (found.ours.p50Ms / found.limit.p50Ms - 1) * 100;
  const target = { text: `at most ${mostPercent.toString()}% more`, isMet: more <= mostPercent };
  const note = `p50 is the processor time of a run in ms. Records of runs add ${more.toFixed(1)}%`;
  return { name: 'recorded runs, full rate', ...found, target, note };
}
