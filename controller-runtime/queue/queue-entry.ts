import { noReasons, type Reason } from './reason.ts';

/** One run of one key, as `get` returns it. */
export interface WorkItem {
  readonly key: string;
  readonly priority: number;
  /**
   * Consecutive runs before this one after which another was needed, with a back-off: failures, requeues, conflicts.
   */
  readonly attempts: number;
  /** The reasons why the key was enqueued, the first reason first; at most eight. */
  readonly reasons: readonly Reason[];
  /** Milliseconds for which the key was ready; only if the queue has an observer. */
  readonly waitMs?: number;
}

/**
 * The ready keys of one priority: a linked list through the entries, so that any entry can be removed in constant time.
 */
export interface ReadyLevel {
  readonly priority: number;
  first: QueueEntry | undefined;
  last: QueueEntry | undefined;
}

/**
 * The state of a key. An `idle` key is remembered only for its failures. While it is processed, {@link
 * QueueEntry.next} is its state after `done`.
 */
export type EntryState = 'idle' | 'ready' | 'delayed' | 'processing' | 'parked';

/** One key. A class, so that all entries share one hidden class: the queue makes one per add. */
export class QueueEntry {
  readonly key: string;
  state: EntryState = 'idle';
  /** Priority of the next run: the highest of all adds since the last `get`; undefined without one. */
  priority: number | undefined = undefined;
  /** Reasons of the next run. */
  reasons: readonly Reason[] = noReasons;
  /** True when a reason is a change. Kept separately, since the list of reasons may be full. */
  changed = false;
  /** Consecutive runs after which another was needed, with a back-off. */
  attempts = 0;
  /** The number of retries that count towards the retry limit. */
  failures = 0;
  /** Monotonic time at which the first of the runs in {@link attempts} ended. */
  failingMs = 0;
  lastError: string | undefined = undefined;
  /** Monotonic time at which a delayed key becomes ready. */
  dueMs = 0;
  /** Monotonic time at which the key became ready; kept only if the queue has an observer. */
  readyMs = 0;
  /** Orders entries with equal dueMs: first in, first out. */
  order = 0;
  /** Position in the delay heap; -1 outside. */
  heapIndex = -1;
  /** The run under way. */
  running: WorkItem | undefined = undefined;
  /** The next state after the run under way. */
  next: 'nothing' | 'ready' | 'delayed' | 'parked' = 'nothing';
  level: ReadyLevel | undefined = undefined;
  before: QueueEntry | undefined = undefined;
  after: QueueEntry | undefined = undefined;

  constructor(key: string) {
    this.key = key;
  }
}
