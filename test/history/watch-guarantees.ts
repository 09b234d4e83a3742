import type { History, Violation, WatchGuarantee } from './history.ts';
import {
  findBadResumption,
  findDisorder,
  findEarlyBookmark,
  findGap,
  findHalfChange,
  findRepetition,
} from './watch-streams.ts';
import { findFutureEvent, findUntoldWrite, findUnwrittenEvent } from './watch-writes.ts';

const checks: Readonly<Record<WatchGuarantee, (history: History) => string[]>> = {
  ordered: findDisorder,
  unique: findRepetition,
  atomic: findHalfChange,
  resumable: findBadResumption,
  reliable: findGap,
  bookmarkable: findEarlyBookmark,
  'no event from the future': findFutureEvent,
  'every event is a write': findUnwrittenEvent,
  'every write is an event': findUntoldWrite,
};

export function checkWatchGuarantees(history: History): Violation[] {
  return (Object.keys(checks) as WatchGuarantee[]).flatMap((guarantee) =>
    checks[guarantee](history).map((message) => ({ guarantee, message })),
  );
}
