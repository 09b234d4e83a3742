import type { ApiObject, FieldViolation } from '@homeostat/controller-runtime/api';
import type { Steps } from '../../turns/steps.ts';

/** What is wrong with an object of a built-in kind, valid by its schema, that may take long to judge. */
export type KindJudge = (next: ApiObject, stored: ApiObject | undefined) => Steps<readonly FieldViolation[]>;
