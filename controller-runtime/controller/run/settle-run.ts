import type { Logger } from '../../api/index.ts';
import type { WorkItem } from '../../queue/queue-entry.ts';
import type { Reason } from '../../queue/reason.ts';
import type { WorkQueue } from '../../queue/work-queue.ts';
import type { CacheView } from './cache-view.ts';
import type { ConflictWaits } from './conflict-waits.ts';
import type { Outcome } from './outcome.ts';

export interface SettleParts {
  readonly queue: WorkQueue;
  readonly view: CacheView;
  readonly waits: ConflictWaits;
  /** A logger that adds the controller, the key and the reconcileID to each line. */
  readonly logger: Logger;
}

/**
 * The maximum time for which a key waits for the cache after a conflict. A watch can reconnect once or twice in this
 * time.
 */
const conflictWaitMs = 10_000;
const retry: Reason = Object.freeze({ type: 'retry' });

/**
 * Decides, by the outcome of a run, whether and when its key is reconciled again. The options `every` and `schedule` of
 * the controller do not count here: the shard queues the key for them. Call this function before `done` of the queue.
 */
export function settleRun(parts: SettleParts, item: WorkItem, outcome: Outcome): void {
  const { queue } = parts;
  const { key } = item;
  switch (outcome.kind) {
    case 'success':
    case 'paused':
      return queue.forget(key);
    case 'after':
      queue.forget(key);
      return queue.addAfter(key, outcome.delayMs);
    case 'requeue':
    case 'stopped':
      queue.addRateLimited(key, { unlimited: true });
      return;
    case 'conflict':
      return settleConflict(parts, item, outcome);
    case 'terminal':
    case 'error':
    case 'timeout':
      return settleFailure(parts, item, outcome);
  }
}

function settleFailure(
  { queue, logger }: SettleParts,
  { key, attempts }: WorkItem,
  { kind, error }: Extract<Outcome, { readonly kind: 'terminal' | 'error' | 'timeout' }>,
): void {
  const attempt = attempts + 1;
  if (kind === 'terminal') {
    queue.park(key, messageOf(error));
    return logger.error({ attempt, err: error }, 'reconcile failed permanently; the key waits for the next change');
  }
  const isParked = queue.addRateLimited(key, { error: messageOf(error) }) === 'parked';
  if (kind === 'error') {
    const then = isParked
      ? 'reconcile failed too often; the key waits for the next change'
      : 'reconcile failed; trying again';
    return logger.error({ attempt, err: error, ...nextRun(queue, key) }, then);
  }
  // The error was logged at the time of the timeout, so this line reports only the end of the run.
  const then = isParked ? 'the key waits for the next change' : 'trying again';
  return logger.warn({ attempt, ...nextRun(queue, key) }, `the run that outlasted its timeout has ended; ${then}`);
}

/** Returns, for the log, the time at which the key is due. The result has no time if the key is not delayed. */
function nextRun(queue: WorkQueue, key: string): { readonly nextTime?: string } {
  const { nextTime } = queue.stateOf(key) ?? {};
  return nextTime === undefined ? {} : { nextTime: new Date(nextTime).toISOString() };
}

/**
 * Handles a conflict: the run used an outdated state, so the key is reconciled again once the cache has a newer state,
 * at the latest after `conflictWaitMs`. If there is nothing to wait for, for example because the cache has a newer
 * state already or the kind is not followed, a key without earlier failures, requeues or conflicts is reconciled at
 * once. Any other key has a back-off: otherwise a precondition that can never be met would cause runs without end.
 */
function settleConflict(
  { queue, view, waits, logger }: SettleParts,
  item: WorkItem,
  { error, source }: Outcome & { readonly kind: 'conflict' },
): void {
  const { key, priority } = item;
  logger.debug({ attempt: item.attempts + 1, err: error }, 'reconcile had a conflict; trying again');
  if (source !== undefined && view.follows(source.target.cacheId) && !view.hasPassed(source.target, source.revision)) {
    waits.wait(item, source.target, source.revision);
    return queue.addAfter(key, conflictWaitMs, { reason: retry });
  }
  queue.addRateLimited(key, { unlimited: true });
  if (item.attempts === 0) queue.add(key, { priority, reason: retry });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
