import type { ApiObject } from '@homeostat/controller-runtime/api';
import type { Entry } from '../index/entry.ts';
import type { Steps } from '../turns/steps.ts';
import { decodeObject } from './object-codec.ts';
import type { Proposal } from './proposal.ts';
import type { Decision, WriteRequest } from './write-request.ts';
import { resultOf } from './write-result.ts';
import type { WriteResult } from './write-result.ts';

export type Propose = (stored: ApiObject, request: WriteRequest) => Steps<Proposal<Decision>>;

/** What a change proposes of the stored object, and of one that cannot be read; absent: that is a 500. */
export interface Proposals {
  readonly propose: Propose;
  readonly ofBroken?: Propose;
}

export interface Proposed {
  readonly proposal: Proposal<Decision>;
  /** What is answered when nothing changes. */
  readonly unchanged: Pick<WriteResult, 'object' | 'bytes'>;
}

/** What a change of an object comes to, before hooks have their say. */
export function* proposeOn(shown: Entry, propose: (stored: ApiObject) => Steps<Proposal<Decision>>): Steps<Proposed> {
  const stored = decodeObject(shown.bytes);
  yield;
  return { proposal: yield* propose(stored), unchanged: resultOf(stored, shown) };
}
