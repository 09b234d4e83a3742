import type { ApiObject, FieldViolation } from '@homeostat/controller-runtime/api';

/** Rules of a built-in kind whose objects may take long to judge. */
export interface KindJudge {
  /** Judges a valid object over several turns of the event loop, so that its violations are at hand when it is written. */
  examine(next: ApiObject, stored: ApiObject | undefined): Promise<void>;
  /** What is wrong with an object; right as well, and slower, for one that was not examined. */
  violations(next: ApiObject, stored: ApiObject | undefined): readonly FieldViolation[];
}
