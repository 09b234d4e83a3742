import type { QueueEntry } from './queue-entry.ts';
import type { Reason } from './reason.ts';

/** The state of a key of a work queue. */
export interface KeyState {
  readonly key: string;
  readonly state: 'ready' | 'delayed' | 'processing' | 'parked';
  readonly priority: number;
  /**
   * The number of consecutive runs that needed a back-off, because they failed, requested a requeue or had a conflict.
   */
  readonly attempts: number;
  /**
   * The time at which the first of the runs counted in `attempts` ended, in milliseconds since 1970; absent when
   * `attempts` is 0.
   */
  readonly failingSince?: number;
  /**
   * The time at which a delayed key is due, in milliseconds since 1970. A key that is being processed and will be
   * delayed afterwards also has it.
   */
  readonly nextTime?: number;
  readonly lastError?: string;
  /** The reasons of the next run; while the key is being processed, those of the current run. */
  readonly reasons: readonly Reason[];
}

/** The number of keys in each state. */
export type QueueSizes = Readonly<Record<KeyState['state'], number>>;

/**
 * Returns the state of an entry. `wallMs` is the difference of the wall clock and the monotonic clock, in milliseconds.
 */
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
