import type { CaseContext } from '../case.ts';
import { Child } from '../child.ts';
import type { Figures } from '../figures.ts';
import { opsAtLeast } from '../result-table.ts';
import type { Row } from '../result-table.ts';
import { alternate } from '../rounds.ts';

/** How many tokens of service accounts, verified before, can one core find the user of in a second? 5 µs is the most that each may take. */
export async function identities({ settings }: CaseContext): Promise<readonly Row[]> {
  await using child = new Child('identities');
  const count = settings.writes * 20;
  const found = await alternate(settings.rounds, {
    ours: () => child.call<Figures>('ours', count),
    limit: () => child.call<Figures>('limit', count),
  });
  return [{ name: 'identities: known token', ...found, target: opsAtLeast(200_000, found.ours) }];
}
