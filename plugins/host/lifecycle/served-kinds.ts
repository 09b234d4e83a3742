import type { ApiServer } from '@homeostat/apiserver';
import { apiVersionOf } from '@homeostat/controller-runtime/api';
import type { Clock, GroupVersionKind, Logger } from '@homeostat/controller-runtime/api';
import { orAbort } from '../text/deadline.ts';

/** The progress of a kind that is being indexed. */
export interface KindProgress {
  readonly apiVersion: string;
  readonly kind: string;
  /** The number of objects indexed so far. The total is not known before the end. */
  readonly indexed: number;
}

export interface AwaitServedParts {
  readonly server: Pick<ApiServer, 'whenReady' | 'indexingProgress'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** When it aborts, {@link awaitServed} rejects with its reason. */
  readonly signal: AbortSignal;
  /**
   * If kinds are being indexed, called with these kinds at the beginning and each time the progress is logged, and with
   * an empty list at the end.
   */
  readonly onProgress?: (progress: readonly KindProgress[]) => void;
}

/** The interval between log lines about the progress of a large kind, and the time before the first line. */
const progressMs = 5000;
const firstProgressMs = 1000;

/**
 * Waits until all given kinds are indexed and served, without a time limit, and logs the progress. Rejects with the
 * first IndexBuildError.
 */
export async function awaitServed(kinds: readonly GroupVersionKind[], parts: AwaitServedParts): Promise<void> {
  const { server, clock, logger, signal, onProgress } = parts;
  signal.throwIfAborted();
  const first = progressOf(kinds, server);
  if (first.length > 0) onProgress?.(first);
  let timer = clock.setTimeout(report, firstProgressMs);
  function report(): void {
    const progress = progressOf(kinds, server);
    for (const kind of progress) logger.info({ ...kind }, 'indexing');
    onProgress?.(progress);
    timer = clock.setTimeout(report, progressMs);
  }
  try {
    await orAbort(Promise.all(kinds.map(async (kind) => server.whenReady(kind))), signal);
  } finally {
    clock.clearTimeout(timer);
    if (first.length > 0) onProgress?.([]);
  }
}

function progressOf(kinds: readonly GroupVersionKind[], server: AwaitServedParts['server']): readonly KindProgress[] {
  return kinds.flatMap((gvk) => {
    const indexed = server.indexingProgress(gvk);
    return indexed === undefined ? [] : [{ apiVersion: apiVersionOf(gvk), kind: gvk.kind, indexed }];
  });
}
