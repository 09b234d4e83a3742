/**
 * The type of the reason why a key was enqueued. `event`: a change of the key's own object, or a key from a source;
 * `owner`: a change of a dependent of the key's object; `mapping`: a mapping returned the key; `resync`: a periodic
 * resync; `retry`: a retry after a failure, a conflict or a requeue; `timer`: the end of a requested delay or of an
 * interval; `schedule`: a slot of the schedule; `manual`: a request of a user or a program.
 */
export type ReasonType = 'event' | 'owner' | 'mapping' | 'resync' | 'retry' | 'timer' | 'schedule' | 'manual';

export interface Reason {
  readonly type: ReasonType;
  /** Details for people, such as `ADDED` or `Badge ada`. */
  readonly detail?: string;
  /** The W3C traceparent of the write because of which the key was enqueued; absent when the write was not traced. */
  readonly traceparent?: string;
  /** The revision of the changed object; absent for objects that exist at the start, and when no object has changed. */
  readonly resourceVersion?: string;
  /** The field manager that wrote this revision; absent when it is not known. */
  readonly manager?: string;
}

/** The maximum number of reasons of a key. The first eight distinct reasons are kept. */
export const maxReasons = 8;

const changes: ReadonlySet<ReasonType> = new Set<ReasonType>(['event', 'owner', 'mapping', 'schedule', 'manual']);

/** True for a change, a manual request and a slot: these reasons release a parked key, and all others do not. */
export function isChange(reason: Reason): boolean {
  return changes.has(reason.type);
}

/** The empty list, shared by all keys without a reason, because most keys have reasons only for a short time. */
export const noReasons: readonly Reason[] = Object.freeze([]);

/**
 * Returns a list with the given reason appended, or the given list if it is full. If the list has a reason with the
 * same type, detail and traceparent already, the given reason replaces that reason, because the given reason has the
 * newer revision. The given list is never changed.
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
