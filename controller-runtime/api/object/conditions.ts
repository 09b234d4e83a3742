/** One aspect of an object's observed state (Kubernetes `metav1.Condition`); `type` is unique within the list. */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  /** The `metadata.generation` of the object from which the condition was derived. */
  readonly observedGeneration?: number;
  /**
   * The time (RFC 3339) of the last change of `status`. A write that leaves `status` unchanged does not change this
   * time.
   */
  readonly lastTransitionTime: string;
  /** The reason of the status as one CamelCase word, for programs. */
  readonly reason: string;
  /** The reason of the status as a text for people; it may be empty. */
  readonly message: string;
}

/** A condition as a controller passes it to {@link setCondition}, which sets lastTransitionTime. */
export type NewCondition = Omit<Condition, 'lastTransitionTime'>;

/**
 * Returns a list in which the new condition replaces the condition of the same type; if the list has no condition of
 * this type, the new one is added at the end. lastTransitionTime becomes `now` (RFC 3339) when the condition is added
 * or its status differs. Otherwise it stays, so that setting an equal condition again changes nothing. If the new
 * condition has no observedGeneration, the old value is kept. The given list is not changed; undefined counts as an
 * empty list.
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
