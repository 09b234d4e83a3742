import type { CaseContext } from '../../measure/case.ts';
import { Child } from '../../processes/child.ts';
import type { Figures } from '../../measure/figures.ts';
import { opsAtLeast } from '../../measure/result-table.ts';
import type { Row } from '../../measure/result-table.ts';
import { alternate } from '../../measure/rounds.ts';

/**
 * Measures how many tokens the server can look up per second of processor time. Each look-up finds the user of a
 * service account's token that the server has already verified, and may take at most 5 µs.
 */
export async function identities({ settings }: CaseContext): Promise<readonly Row[]> {
  await using child = new Child('identities');
  const count = settings.writes * 20;
  const found = await alternate(settings.rounds, {
    ours: () => child.call<Figures>('ours', count),
    limit: () => child.call<Figures>('limit', count),
  });
  return [{ name: 'identities: known token', ...found, target: opsAtLeast(200_000, found.ours) }];
}
