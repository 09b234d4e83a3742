import type { ApiObject } from '@homeostat/controller-runtime/api';
import { nextTurn } from '../schema/in-turns.ts';
import type { KindJudge } from './kind-judge.ts';
import type { Proposal } from './proposal.ts';
import type { Rules } from './write-request.ts';

interface Examined {
  readonly rules: Rules;
  readonly judge: KindJudge;
  readonly stored: ApiObject | undefined;
}

/**
 * What becomes of a proposal that takes long to judge: it is read, judged and written in different turns of the event loop. What
 * breaks the schema is refused in the end, and not judged by rules that rely on the schema.
 */
export async function examineProposal<R>(proposal: Proposal<R>, { rules, judge, stored }: Examined): Promise<void> {
  await nextTurn();
  if (rules.schema.validate(proposal.object).length > 0) return;
  await nextTurn();
  await judge.examine(proposal.object, stored);
  await nextTurn();
}
