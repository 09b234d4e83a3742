import type { ApiObject } from '@homeostat/controller-runtime/api';
import type { Steps } from '../../turns/steps.ts';
import type { Proposal } from './proposal.ts';
import type { Decision, WriteRequest } from './write-request.ts';

export type Propose = (stored: ApiObject, request: WriteRequest) => Steps<Proposal<Decision>>;

/** What a change proposes of the stored object, and of one that cannot be read; absent: that is a 500. */
export interface Proposals {
  readonly propose: Propose;
  readonly ofBroken?: Propose;
}
