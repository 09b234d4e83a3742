import { silentLogger } from '../../api/index.ts';
import type { Clock, Logger } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import { systemClock } from '../../clock/system-clock.ts';
import { FaultyRequests } from './faulty-requests.ts';
import type { ClientFault, LoggedRequest } from './faulty-requests.ts';
import { InterceptedClient } from './intercepted-client.ts';
import type { ClientRequest } from './intercepted-client.ts';

export interface FaultyClientOptions {
  /** The clock for reconnects of informers. Default the real time. */
  readonly clock?: Clock;
  /** Default silent. */
  readonly logger?: Logger;
  /** Jitter of the reconnects, in [0, 1). Default always 0.5, so that a test runs the same each time. */
  readonly random?: () => number;
}

export interface FaultyClient {
  /** The client for the controllers under test. Its informers have their own caches, as over HTTP. */
  readonly client: Client;
  /** Every request so far, in order, including those of informers and those with a fault. */
  readonly requests: readonly LoggedRequest[];
  /** The next request that matches (default any) meets the fault, once. Several faults apply in order. */
  inject(fault: ClientFault, matches?: (request: ClientRequest) => boolean): void;
  /**
   * Breaks the watches that match (default all); returns their number. The watches resume where they were, after a
   * back-off of about a second. With `expired` (410), the informers of these watches list again at once.
   */
  dropWatches(options?: { readonly expired?: boolean; readonly matches?: (request: ClientRequest) => boolean }): number;
  /**
   * Holds back the events of watches that match (default all), so that caches do not change, until the returned
   * function is called.
   */
  holdEvents(matches?: (request: ClientRequest) => boolean): () => void;
  /**
   * Ends the process, as far as this client can: requests of runs, including those under way, never settle, and no
   * further request is executed.
   */
  crash(): void;
}

/** A client that logs its requests, and fails as the test says. The given client carries out all other requests. */
export function createFaultyClient(client: Client, options: FaultyClientOptions = {}): FaultyClient {
  const { clock = systemClock, logger = silentLogger, random = () => 0.5 } = options;
  const requests = new FaultyRequests();
  return {
    client: new InterceptedClient({ client, interceptor: requests, clock, logger, random }),
    requests: requests.log,
    inject: (fault, matches) => requests.inject(fault, matches),
    dropWatches: ({ expired = false, matches } = {}) => requests.endWatches(expired ? 'expire' : 'drop', matches),
    holdEvents: (matches) => requests.holdEvents(matches),
    crash: () => requests.crash(),
  };
}
