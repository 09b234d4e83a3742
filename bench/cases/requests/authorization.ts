import type { CaseContext } from '../../measure/case.ts';
import { Child } from '../../processes/child.ts';
import type { Figures } from '../../measure/figures.ts';
import { p50AtMost } from '../../measure/result-table.ts';
import type { Row } from '../../measure/result-table.ts';
import { alternate } from '../../measure/rounds.ts';

/** Measures the processor time of a decision whether a user may do something, with a thousand bindings. */
export async function authorization({ settings }: CaseContext): Promise<readonly Row[]> {
  await using child = new Child('authorization');
  const count = settings.writes * 50;
  const found = await alternate(settings.rounds, {
    ours: () => child.call<Figures>('ours', count),
    limit: () => child.call<Figures>('limit', count),
  });
  return [{ name: 'authorization: decision with 1,000 bindings', ...found, target: p50AtMost(0.003, found.ours) }];
}
