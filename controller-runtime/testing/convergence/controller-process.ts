import { silentLogger } from '../../api/index.ts';
import type { ApiObject } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import type { InformerHandler } from '../../client/informer.ts';
import type { ControllerDefinition } from '../../controller/controller-definition.ts';
import { createManager } from '../../manager/manager.ts';
import type { Manager } from '../../manager/manager.ts';
import type { KeyState } from '../../queue/key-state.ts';
import { Metrics } from '../../telemetry/metrics.ts';
import type { FakeClock } from '../fake-clock.ts';
import { FaultyRequests } from '../faulty-requests.ts';
import type { FaultSource } from '../faulty-requests.ts';
import { FollowedKinds } from '../followed-kinds.ts';
import { InterceptedClient } from '../intercepted-client.ts';

export interface ProcessParts {
  readonly client: Client;
  readonly controllers: readonly ControllerDefinition[];
  readonly clock: FakeClock;
  readonly random: () => number;
  readonly uuid: () => string;
  readonly source: FaultSource;
  readonly wrap: (handler: InformerHandler<ApiObject>) => InformerHandler<ApiObject>;
}

/** A key that failed, and of which controller. */
export interface FailingKey {
  readonly controller: string;
  readonly state: KeyState;
}

/** The process that controllers run in: one manager with caches and queues of its own. Runs from its making. */
export class ControllerProcess {
  readonly requests: FaultyRequests;
  readonly #followed = new FollowedKinds();
  readonly #manager: Manager;
  readonly #abort = new AbortController();
  readonly #running: Promise<void>;

  constructor({ client, controllers, clock, random, uuid, source, wrap }: ProcessParts) {
    this.requests = new FaultyRequests(source);
    const intercepted = new InterceptedClient({ client, interceptor: this.requests, clock, random });
    this.#manager = createManager({
      client: this.#followed.tracking(intercepted, wrap),
      controllers,
      clock,
      uuid,
      logger: silentLogger,
      metrics: new Metrics(),
      // Whoever crashes finishes nothing.
      graceMs: 0,
    });
    this.#running = this.#manager.run(this.#abort.signal);
  }

  /** Nothing is to be done before time passes. */
  isIdle(): boolean {
    return this.#manager.isIdle();
  }

  /** The caches are as the server is, asked by this client. */
  haveCachesCaughtUp(client: Client): Promise<boolean> {
    return this.#followed.haveCaughtUp(client);
  }

  failing(): readonly FailingKey[] {
    return this.#manager.controllers().flatMap(({ name }) =>
      this.#manager
        .queue(name)
        .filter(({ attempts }) => attempts > 0)
        .map((state) => ({ controller: name, state })),
    );
  }

  /** Stops it, without grace. Resolves when nothing of it is left; that takes time of the clock. */
  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#running;
  }
}
