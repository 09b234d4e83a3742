import { noReasons, type Reason } from './reason.ts';

/** One run of one key. `get` of the work queue returns it to the worker that does the run. */
export interface WorkItem {
  readonly key: string;
  readonly priority: number;
  /**
   * The number of consecutive runs before this one that needed a back-off, because they failed, requested a requeue or
   * had a conflict.
   */
  readonly attempts: number;
  /** The reasons why the key was enqueued, the oldest first; at most eight. */
  readonly reasons: readonly Reason[];
  /** The time in milliseconds for which the key was ready; present only if the queue has an observer. */
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
 * The state of a key. An `idle` key is kept only to count its failures. While a key is `processing`, {@link
 * QueueEntry.next} is its state after `done`.
 */
export type EntryState = 'idle' | 'ready' | 'delayed' | 'processing' | 'parked';

/**
 * One key of the queue. The queue creates an entry for most adds, so this is a class: all entries then share one hidden
 * class of V8.
 */
export class QueueEntry {
  readonly key: string;
  state: EntryState = 'idle';
  /** The priority of the next run: the highest of all adds since the last `get`; undefined when there was no add. */
  priority: number | undefined = undefined;
  /** The reasons of the next run. */
  reasons: readonly Reason[] = noReasons;
  /**
   * True when one of the reasons of the next run is a change. This is stored separately, because a full list of reasons
   * may lack the change.
   */
  changed = false;
  /** The number of consecutive runs that needed a back-off (see {@link WorkItem.attempts}). */
  attempts = 0;
  /** The number of retries that count towards the retry limit. */
  failures = 0;
  /** The monotonic time of the end of the first run that {@link attempts} counts. */
  failingMs = 0;
  lastError: string | undefined = undefined;
  /** Monotonic time at which a delayed key becomes ready. */
  dueMs = 0;
  /** Monotonic time at which the key became ready; kept only if the queue has an observer. */
  readyMs = 0;
  /** A number that orders entries with equal dueMs: first in, first out. */
  order = 0;
  /** The index in the delay heap; -1 when the entry is not in the heap. */
  heapIndex = -1;
  /** The run under way. */
  running: WorkItem | undefined = undefined;
  /** The state of the key after the run under way. */
  next: 'nothing' | 'ready' | 'delayed' | 'parked' = 'nothing';
  level: ReadyLevel | undefined = undefined;
  before: QueueEntry | undefined = undefined;
  after: QueueEntry | undefined = undefined;

  constructor(key: string) {
    this.key = key;
  }
}
