import type { CaseContext } from '../../measure/case.ts';
import { Child } from '../../processes/child.ts';
import type { Figures } from '../../measure/figures.ts';
import { opsAtLeast } from '../../measure/result-table.ts';
import type { Row } from '../../measure/result-table.ts';
import { alternate } from '../../measure/rounds.ts';

/** Measures the number of keys per second that one core can add to a work queue, take from it and mark as done. */
export async function workQueue({ settings }: CaseContext): Promise<readonly Row[]> {
  await using child = new Child('work-queue');
  const count = settings.writes * 100;
  const found = await alternate(settings.rounds, {
    ours: () => child.call<Figures>('ours', count),
    limit: () => child.call<Figures>('limit', count),
  });
  return [{ name: 'work-queue: add, get, done', ...found, target: opsAtLeast(1_000_000, found.ours) }];
}
