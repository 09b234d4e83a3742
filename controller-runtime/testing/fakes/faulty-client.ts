import { silentLogger } from '../../api/index.ts';
import type { Clock, Logger } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import { systemClock } from '../../clock/system-clock.ts';
import { FaultyRequests } from './faulty-requests.ts';
import type { ClientFault, LoggedRequest } from './faulty-requests.ts';
import { InterceptedClient } from './intercepted-client.ts';
import type { ClientRequest } from './intercepted-client.ts';

export interface FaultyClientOptions {
  /** The clock for reconnects of informers. Default: the system clock. */
  readonly clock?: Clock;
  /** The logger of the informers. Default: a logger that writes nothing. */
  readonly logger?: Logger;
  /**
   * Returns a number in [0, 1) for the jitter of the reconnects. Default: always 0.5, so that each run of a test is the
   * same.
   */
  readonly random?: () => number;
}

export interface FaultyClient {
  /** The client for the controllers under test. Its informers have caches of their own, like over HTTP. */
  readonly client: Client;
  /** Every request before a crash, in order, including those of informers and those with a fault. */
  readonly requests: readonly LoggedRequest[];
  /**
   * Injects a fault into the next request for which `matches` returns true; default: the next request. Several faults
   * apply in order, each once.
   */
  inject(fault: ClientFault, matches?: (request: ClientRequest) => boolean): void;
  /**
   * Breaks the watches that match (default all), and returns their number. Informers resume their watches from the last
   * revision after a back-off, at first of 400 to 800 ms. With `expired` (410), they list again instead: at once, or
   * after a back-off if no event has arrived since the previous 410.
   */
  dropWatches(options?: { readonly expired?: boolean; readonly matches?: (request: ClientRequest) => boolean }): number;
  /**
   * Holds back the events of watches that match (default all), so that caches do not change, until the returned
   * function is called.
   */
  holdEvents(matches?: (request: ClientRequest) => boolean): () => void;
  /**
   * Simulates the end of the process: requests of runs, including those under way, never settle, no later read or write
   * is executed, and watches deliver no more events.
   */
  crash(): void;
}

/**
 * Makes a client that logs its requests, and in which a test can inject faults. The given client carries out the
 * requests.
 */
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
