import type { ApiObject } from '@homeostat/controller-runtime/api';
import type { Steps } from '../../turns/steps.ts';

/** What a write wants, before hooks have had their say in it and the rules have judged it. */
export interface Proposal<R> {
  readonly verb: 'create' | 'update' | 'delete';
  /** The next state, shaped; of a deletion the stored one. The proposal's own. */
  readonly object: ApiObject;
  /** What becomes of it. Called with the object itself, or with what hooks made of it. @throws ApiError */
  conclude(object: ApiObject): Steps<R>;
}
