import type { CronSchedule } from '../definition/cron-schedule.ts';

/** The maximum number of missed slots that the policy `all` runs late, one after another. */
const maxMissedSlots = 100;
/** The maximum number of dropped slots that are counted, because counting takes 50 µs for each slot. */
const maxCounted = 500;

export interface SlotQuestion {
  readonly schedule: CronSchedule;
  /** No slot up to this time needs a run any more. In milliseconds since 1970. */
  readonly ended: number;
  readonly nowMs: number;
  /** The slot for which this process has set a timer; undefined when it has set none. */
  readonly awaited: number | undefined;
}

/** Returns the slot that runs now; undefined when no slot is due, or when the policy `skip` drops the due slots. */
export function dueSlot({ schedule, ended, nowMs, awaited }: SlotQuestion): number | undefined {
  const first = schedule.nextAfter(ended);
  if (first === undefined || first > nowMs) return undefined;
  if (schedule.missed === 'all') {
    if (!hasMoreThan(maxMissedSlots, schedule, { first, nowMs })) return first;
    return schedule.lastUpTo(nowMs, maxMissedSlots).findLast((slot) => slot > ended);
  }
  const latest = schedule.lastUpTo(nowMs, 1)[0];
  return schedule.missed === 'last' || latest === awaited ? latest : undefined;
}

/** True when more than `count` slots are due. `first` is the first of them. */
function hasMoreThan(
  count: number,
  schedule: CronSchedule,
  { first, nowMs }: { readonly first: number; readonly nowMs: number },
): boolean {
  let slot: number | undefined = first;
  for (let passed = 0; passed < count && slot !== undefined; passed += 1) {
    slot = schedule.nextAfter(slot);
    if (slot === undefined || slot > nowMs) return false;
  }
  return slot !== undefined;
}

/**
 * Counts the dropped slots: those after `ended` and before `slot`. `isMore` is true when there are more than the
 * maximum that is counted.
 */
export function droppedSlots({ schedule, ended }: SlotQuestion, slot: number): { count: number; isMore: boolean } {
  let count = 0;
  for (let each = schedule.nextAfter(ended); each !== undefined && each < slot; each = schedule.nextAfter(each)) {
    if (count >= maxCounted) return { count, isMore: true };
    count += 1;
  }
  return { count, isMore: false };
}
