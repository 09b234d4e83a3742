import type { Requirement } from '@homeostat/controller-runtime/api';
import type { LabelSelector } from '../builtin/objects/rbac-objects.ts';

/** A list of requirements, all of which labels must meet. */
export type LabelMatcher = readonly Requirement[];

const operators: Readonly<Record<string, Requirement['operator']>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: 'absent',
};

/** Returns the requirements of a valid label selector. An empty selector selects everything. */
export function selectorOf({ matchLabels, matchExpressions }: LabelSelector): LabelMatcher {
  const equal = Object.entries(matchLabels ?? {}).map(([key, value]): Requirement => ({
    key,
    operator: 'in',
    values: [value],
  }));
  const others = (matchExpressions ?? []).map(({ key, operator, values }): Requirement => ({
    key,
    // Validation refuses an unknown operator. If one occurs nevertheless, it counts as `In`.
    operator: operators[operator] ?? 'in',
    values: values ?? [],
  }));
  return [...equal, ...others];
}
