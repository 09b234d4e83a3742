import type { Clock, Logger } from '../api/index.ts';
import type { Client } from '../client/client.ts';
import type { ControllerDefinition } from '../controller/definition/controller-definition.ts';
import { createManager } from '../manager/manager.ts';
import type { Manager } from '../manager/manager.ts';
import { expectConverged } from './expect-converged.ts';
import { errorLogger } from './fakes/error-logger.ts';
import type { ExternalSystem } from './fakes/external-system.ts';
import { FollowedKinds } from './fakes/followed-kinds.ts';
import { RunWrites } from './run-writes.ts';
import type { KitInvariants, WriteStep } from './run-writes.ts';
import { settle, settleUnless } from './settle.ts';
import type { Participant, SettleOptions } from './settle.ts';

export type TestKitOptions = ({ readonly client: Client } | { readonly server: { readonly client: Client } }) & {
  readonly controllers?: readonly ControllerDefinition[];
  /**
   * The clock of the controllers. Default: the system clock. With a FakeClock, the test decides when a back-off, or a
   * delay that a reconciler requests, ends.
   */
  readonly clock?: Clock;
  /** The logger of the controllers. Default: errors are printed to stderr. `silentLogger` prints nothing. */
  readonly logger?: Logger;
  /** Other parts that may be busy, such as the server's garbage collection. Default none. */
  readonly participants?: readonly Participant[];
  /** The external systems that {@link TestKit.expectConverged} watches. Default none. */
  readonly externalSystems?: readonly ExternalSystem[];
  /**
   * If true, each write of a run waits until {@link TestKit.step} sends it, or `settle` or `expectConverged` sends all
   * writes. Default false.
   */
  readonly stepped?: boolean;
  /**
   * The invariants, by name. They are checked before and after each write of a run; the next write waits meanwhile.
   * They receive a client that reads the stored objects. An invariant is broken when its function throws or rejects.
   * `settle`, `step` and `expectConverged` then reject with an error that names the first write that broke an
   * invariant, the run of this write, and the fields that it changed, or says that no run of the controllers broke the
   * invariant. Default none.
   */
  readonly invariants?: KitInvariants;
};

export interface TestKit {
  readonly client: Client;
  /** The manager runs the controllers from the creation of the kit until {@link stop}. */
  readonly manager: Manager;
  /**
   * Resolves when all queues are empty, no run is under way, and the controllers have received all changes from the
   * server. Keys that wait for a back-off or a delay do not count. Rejects after the time-out (default 5000 ms of real
   * time) with an error that names the busy parts.
   */
  settle(options?: SettleOptions): Promise<void>;
  /**
   * Settles, and then reconciles every object once more, like after a restart of the controllers' process. Rejects when
   * a run sends a write, calls an external system or fails; the message names the first write and the fields that it
   * changed. The writes are carried out.
   */
  expectConverged(options?: SettleOptions): Promise<void>;
  /**
   * Sends the next write of a run, and resolves with its changes before any other write is sent. Resolves with
   * undefined when nothing is left to do. Needs the option `stepped`. Rejects like `settle`.
   */
  step(options?: SettleOptions): Promise<WriteStep | undefined>;
  /** Stops the controllers. Resolves when they have stopped. The client and its server continue to run. */
  stop(): Promise<void>;
}

/** Runs controllers against a running server, for tests that wait until there is nothing left to do. */
export function createTestKit(options: TestKitOptions): TestKit {
  const { controllers = [], clock, logger = errorLogger, participants = [], externalSystems = [] } = options;
  const client = 'client' in options ? options.client : options.server.client;
  const followed = new FollowedKinds();
  const writes = runWritesOf(options, client);
  const manager = createManager({
    client: followed.tracking(writes?.client ?? client),
    controllers: writes === undefined ? controllers : controllers.map((each) => writes.watching(each)),
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
  const all = [managed, ...participants];
  const whileOpen = async (work: () => Promise<void>): Promise<void> => {
    writes?.open();
    await work().finally(() => writes?.hold());
    writes?.check();
  };
  return {
    client,
    manager,
    settle: (settleOptions) => whileOpen(() => settle(all, settleOptions)),
    expectConverged: (settleOptions) =>
      whileOpen(async () => {
        await settle(all, settleOptions);
        const parts = { client, controllers, clock, logger, externalSystems, participants: all };
        await expectConverged(parts, settleOptions);
      }),
    step: async (settleOptions) => {
      if (writes === undefined || options.stepped !== true)
        throw new TypeError('step() needs createTestKit({ stepped: true })');
      const hasWaiting = await settleUnless(() => writes.hasWaiting, all, settleOptions);
      const step = hasWaiting ? await writes.next() : undefined;
      writes.check();
      return step;
    },
    stop: async () => {
      writes?.end();
      stop.abort();
      await stopped;
    },
  };
}

/**
 * Returns the object that sends the writes of runs one at a time; undefined if `stepped` is false and `invariants` is
 * not set. With this object, the controllers of the kit use the client of this object, which has its own caches.
 * Without this object, the controllers use the kit's client and its caches.
 */
function runWritesOf(options: TestKitOptions, client: Client): RunWrites | undefined {
  const { controllers = [], clock, stepped = false, invariants } = options;
  if (!stepped && invariants === undefined) return undefined;
  return new RunWrites({ client, clock, controllers, invariants: invariants ?? {}, isHolding: stepped });
}
