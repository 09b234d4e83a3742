import type { ApiServer } from '@homeostat/apiserver';
import { apiVersionOf } from '@homeostat/controller-runtime/api';
import type { Clock, GroupVersionKind, Logger } from '@homeostat/controller-runtime/api';
import { orAbort } from './or-abort.ts';

export interface AwaitServedOptions {
  readonly server: Pick<ApiServer, 'whenReady' | 'indexingProgress'>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Gives the wait up; rejects with its reason. */
  readonly signal: AbortSignal;
}

/** How often the progress of a large kind is logged. */
const progressMs = 5000;

/**
 * Waits until all these kinds are indexed and served, however long that takes, and logs how far it is. Rejects with the
 * first IndexBuildError.
 */
export async function awaitServed(kinds: readonly GroupVersionKind[], options: AwaitServedOptions): Promise<void> {
  const { server, clock, signal } = options;
  signal.throwIfAborted();
  let timer = clock.setTimeout(report, progressMs);
  function report(): void {
    logProgress(kinds, options);
    timer = clock.setTimeout(report, progressMs);
  }
  try {
    await orAbort(Promise.all(kinds.map(async (kind) => server.whenReady(kind))), signal);
  } finally {
    clock.clearTimeout(timer);
  }
}

function logProgress(kinds: readonly GroupVersionKind[], { server, logger }: AwaitServedOptions): void {
  for (const kind of kinds) {
    const indexed = server.indexingProgress(kind);
    if (indexed !== undefined) logger.info({ apiVersion: apiVersionOf(kind), kind: kind.kind, indexed }, 'indexing');
  }
}
