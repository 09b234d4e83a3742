import type { QueueEntry } from './queue-entry.ts';
import type { Reason } from './reason.ts';

/** The state of a key of a work queue. */
export interface KeyState {
  readonly key: string;
  readonly state: 'ready' | 'delayed' | 'processing' | 'parked';
  readonly priority: number;
  /** Consecutive runs after which another is needed, with a back-off: failures, requeues, conflicts. */
  readonly attempts: number;
  /** When the first of the runs in `attempts` ended, in milliseconds since 1970; absent when `attempts` is 0. */
  readonly failingSince?: number;
  /**
   * When a delayed key is due, in milliseconds since 1970; also for a key that is being processed and will be delayed
   * afterwards.
   */
  readonly nextTime?: number;
  readonly lastError?: string;
  /** Reasons of the next run; of the present run while the key is being processed. */
  readonly reasons: readonly Reason[];
}

/** The number of keys in each state. */
export type QueueSizes = Readonly<Record<KeyState['state'], number>>;

/** `wallMs` is the wall clock minus the monotonic clock. */
export function keyStateOf(entry: QueueEntry, wallMs: number): KeyState {
  const { key, attempts, lastError, running, next } = entry;
  const state = entry.state === 'idle' ? 'ready' : entry.state;
  const isDelayed = state === 'delayed' || (state === 'processing' && next === 'delayed');
  return {
    key,
    state,
    priority: running?.priority ?? entry.priority ?? 0,
    attempts,
    ...(attempts === 0 ? {} : { failingSince: Math.round(wallMs + entry.failingMs) }),
    ...(isDelayed ? { nextTime: Math.round(wallMs + entry.dueMs) } : {}),
    ...(lastError === undefined ? {} : { lastError }),
    reasons: running?.reasons ?? entry.reasons,
  };
}
