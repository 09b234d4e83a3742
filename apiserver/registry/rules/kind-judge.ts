import type { ApiObject, FieldViolation } from '@homeostat/controller-runtime/api';
import type { Steps } from '../../turns/steps.ts';

/**
 * Returns the problems of an object of a built-in kind, which its schema has already accepted. The check may take long.
 */
export type KindJudge = (next: ApiObject, stored: ApiObject | undefined) => Steps<readonly FieldViolation[]>;
