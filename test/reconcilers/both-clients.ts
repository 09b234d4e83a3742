import { createClient } from 'homeostat';
import type { Client, ControllerDefinition, Model } from 'homeostat';
import { createFaultyClient, createTestKit, FakeClock, startTestServer } from 'homeostat/testing';
import type { FaultyClient, TestKit } from 'homeostat/testing';

/** Running controllers of a server, their requests, and a clock that only the test advances. */
export interface Running {
  /** A client without faults, whose requests are not in `faulty.requests`. */
  readonly client: Client;
  readonly faulty: FaultyClient;
  readonly clock: FakeClock;
  /** Returns the number of requests that runs of the controllers have sent. */
  requestsOfRuns(): number;
  /** Returns the reasons why a key is in the work queue of the first controller of {@link RunOptions.controllers}. */
  reasonsOf(key: string): readonly string[];
  settle(): Promise<void>;
  /** Stops the controllers until {@link restart}. */
  pause(): Promise<void>;
  /** Stops the controllers, unless they are paused, and starts them again with new caches and queues. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export interface RunOptions {
  readonly models: readonly Model[];
  readonly controllers: readonly ControllerDefinition[];
  /** The start time of the clock. Default: that of a `FakeClock`. */
  readonly startTime?: string;
  /** Called with the client before the controllers run. */
  readonly before?: (client: Client) => Promise<unknown>;
}

/** The two ways in which controllers send requests to a server. */
export const transports: readonly Transport[] = ['in process', 'over HTTP'];

export type Transport = 'in process' | 'over HTTP';

/** Starts a server with the models, and runs the controllers on it. */
export async function runControllers(transport: Transport, options: RunOptions): Promise<Running> {
  const { models, controllers, before, startTime } = options;
  const clock = new FakeClock(startTime === undefined ? undefined : Date.parse(startTime));
  const server = await startTestServer({ clock, models });
  const client = transport === 'in process' ? server.client : createClient(server.url);
  await before?.(server.client);
  const faulty = createFaultyClient(client, { clock });
  const start = (): TestKit => createTestKit({ client: faulty.client, controllers, clock });
  let kit = start();
  return {
    client: server.client,
    faulty,
    clock,
    requestsOfRuns: () => faulty.requests.filter(({ reconcileID }) => reconcileID !== undefined).length,
    reasonsOf: (key) => (kit.manager.stateOf(controllers[0]?.name ?? '', key)?.reasons ?? []).map(({ type }) => type),
    settle: () => kit.settle(),
    pause: () => kit.stop(),
    restart: async () => {
      await kit.stop();
      kit = start();
    },
    stop: async () => {
      await kit.stop();
      await server.stop();
    },
  };
}
