/**
 * The reason why a key was enqueued: its own object changed, an object it owns changed, a mapping named it, a periodic resync, a
 * retry after a failure, a time that was asked for, a slot of the schedule, or a person or program by hand.
 */
export type ReasonType = 'event' | 'owner' | 'mapping' | 'resync' | 'retry' | 'timer' | 'schedule' | 'manual';

export interface Reason {
  readonly type: ReasonType;
  /** The reason in words, for people: `ADDED`, `Badge ada`. */
  readonly detail?: string;
  /** W3C traceparent of the write that caused it, where that is traced. */
  readonly traceparent?: string;
  /** The revision of the changed object; absent for objects that exist at the start. */
  readonly resourceVersion?: string;
  /** The field manager that wrote this revision, where it is known. */
  readonly manager?: string;
}

/** A key that is added more often than this keeps the first eight distinct reasons. */
export const maxReasons = 8;

const changes: ReadonlySet<ReasonType> = new Set<ReasonType>(['event', 'owner', 'mapping', 'schedule', 'manual']);

/** True for changes and for the next slot: these reasons release a parked key, and all others do not. */
export function isChange(reason: Reason): boolean {
  return changes.has(reason.type);
}

/** Shared by all keys without a reason, because most keys need a list only for a short time. */
export const noReasons: readonly Reason[] = Object.freeze([]);

/**
 * The list with a reason appended, unless the list is full; if the list has the same reason already, that one gets the
 * newer revision. The empty list is never changed.
 */
export function withReason(reasons: readonly Reason[], reason: Reason): readonly Reason[] {
  if (reasons.length === 0) return [reason];
  for (const [index, known] of reasons.entries()) {
    if (known === reason) return reasons;
    if (isSame(known, reason))
      return known.resourceVersion === reason.resourceVersion ? reasons : reasons.with(index, reason);
  }
  if (reasons.length >= maxReasons) return reasons;
  return [...reasons, reason];
}

function isSame(a: Reason, b: Reason): boolean {
  return a.type === b.type && a.detail === b.detail && a.traceparent === b.traceparent;
}
