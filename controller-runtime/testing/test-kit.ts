import type { Clock, Logger } from '../api/index.ts';
import type { Client } from '../client/client.ts';
import type { ControllerDefinition } from '../controller/definition/controller-definition.ts';
import { createManager } from '../manager/manager.ts';
import type { Manager } from '../manager/manager.ts';
import { expectConverged } from './expect-converged.ts';
import { errorLogger } from './fakes/error-logger.ts';
import type { ExternalSystem } from './fakes/external-system.ts';
import { FollowedKinds } from './fakes/followed-kinds.ts';
import { settle } from './settle.ts';
import type { Participant, SettleOptions } from './settle.ts';

export type TestKitOptions = ({ readonly client: Client } | { readonly server: { readonly client: Client } }) & {
  readonly controllers?: readonly ControllerDefinition[];
  /** Default the real time; with a FakeClock, the test decides when back-off and `after` end. */
  readonly clock?: Clock;
  /** Default: errors are printed to stderr. `silentLogger` prints nothing. */
  readonly logger?: Logger;
  /** Other parts that may be busy, such as the server's garbage collection. Default none. */
  readonly participants?: readonly Participant[];
  /** The external systems that {@link TestKit.expectConverged} watches. Default none. */
  readonly externalSystems?: readonly ExternalSystem[];
};

export interface TestKit {
  readonly client: Client;
  /** Runs the controllers, from the kit's creation until {@link stop}. */
  readonly manager: Manager;
  /**
   * Resolves when all queues are empty, nothing is in flight, and the controllers have seen all that the server has.
   * Delayed keys do not count. Rejects after the time-out (default 5000 ms of real time), and names the busy parts.
   */
  settle(options?: SettleOptions): Promise<void>;
  /**
   * Settles, and then runs the controllers once more for every object, as a restart of their process does. Rejects when a run
   * sends a write or calls an external system; the message names the first write and the fields that it changed. Writes are
   * carried out.
   */
  expectConverged(options?: SettleOptions): Promise<void>;
  /** Stops the controllers; resolves when all of it has stopped. The client and its server keep running. */
  stop(): Promise<void>;
}

/** Runs controllers against a running server, for tests that wait until there is nothing left to do. */
export function createTestKit(options: TestKitOptions): TestKit {
  const { controllers = [], clock, logger = errorLogger, participants = [], externalSystems = [] } = options;
  const client = 'client' in options ? options.client : options.server.client;
  const followed = new FollowedKinds();
  const manager = createManager({
    client: followed.tracking(client),
    controllers,
    ...(clock === undefined ? {} : { clock }),
    logger,
  });
  const stop = new AbortController();
  const stopped = manager.run(stop.signal);
  const managed: Participant = {
    name: 'controllers',
    isIdle: () => manager.isIdle(),
    hasCaughtUp: () => followed.haveCaughtUp(client),
  };
  return {
    client,
    manager,
    settle: (settleOptions) => settle([managed, ...participants], settleOptions),
    expectConverged: async (settleOptions) => {
      const all = [managed, ...participants];
      await settle(all, settleOptions);
      const parts = { client, controllers, clock, logger, externalSystems, participants: all };
      await expectConverged(parts, settleOptions);
    },
    stop: async () => {
      stop.abort();
      await stopped;
    },
  };
}
