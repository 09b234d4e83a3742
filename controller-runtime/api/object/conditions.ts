/** One aspect of an object's observed state (Kubernetes `metav1.Condition`); `type` is unique within the list. */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  /** `metadata.generation` that the condition was derived from. */
  readonly observedGeneration?: number;
  /** RFC 3339: when `status` last changed, not when the condition was last written. */
  readonly lastTransitionTime: string;
  /** The reason for programs: one CamelCase word. */
  readonly reason: string;
  /** The text for people; may be empty. */
  readonly message: string;
}

/** A condition as a controller states it. */
export type NewCondition = Omit<Condition, 'lastTransitionTime'>;

/**
 * Returns the list with this condition in place of the one of its type, or with it at the end. lastTransitionTime
 * becomes `now` (RFC 3339) only when the status differs, so that setting the same condition again writes nothing.
 * Without an observedGeneration, the present one stays. The given list is not changed; an absent one counts as empty.
 */
export function setCondition(
  conditions: readonly Condition[] | undefined,
  condition: NewCondition,
  now: string,
): readonly Condition[] {
  const present = conditions?.find((each) => each.type === condition.type);
  if (present === undefined) return [...(conditions ?? []), { ...condition, lastTransitionTime: now }];
  const lastTransitionTime = present.status === condition.status ? present.lastTransitionTime : now;
  return (conditions ?? []).map((each) => (each === present ? { ...present, ...condition, lastTransitionTime } : each));
}
