import { silentLogger } from '../../api/index.ts';
import type { ApiObject } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import type { InformerHandler } from '../../client/informer.ts';
import type { ControllerDefinition } from '../../controller/definition/controller-definition.ts';
import { createManager } from '../../manager/manager.ts';
import type { Manager } from '../../manager/manager.ts';
import type { KeyState } from '../../queue/key-state.ts';
import { Metrics } from '../../telemetry/metrics.ts';
import type { FakeClock } from '../fakes/fake-clock.ts';
import { FaultyRequests } from '../fakes/faulty-requests.ts';
import type { FaultSource } from '../fakes/faulty-requests.ts';
import { FollowedKinds } from '../fakes/followed-kinds.ts';
import { InterceptedClient } from '../fakes/intercepted-client.ts';
import { describeFailure, failedRuns } from './failed-runs.ts';
import type { FailedRun } from './failed-runs.ts';
import type { ConvergenceOptions } from './convergence-options.ts';
import { FailingParts } from './failing-parts.ts';
import { ForgottenAwaits } from './forgotten-awaits.ts';

export interface ProcessParts {
  readonly client: Client;
  readonly controllers: readonly ControllerDefinition[];
  readonly runnables: ConvergenceOptions['runnables'];
  readonly clock: FakeClock;
  readonly random: () => number;
  readonly uuid: () => string;
  readonly source: FaultSource;
  readonly wrap: (handler: InformerHandler<ApiObject>) => InformerHandler<ApiObject>;
  /**
   * Called with a line about each request that a run of a controller did not await. Such a request makes the check
   * fail, even if the final state is right.
   */
  readonly onProblem: (problem: string) => void;
}

/** A key that failed, and its controller. */
export interface FailingKey {
  readonly controller: string;
  readonly state: KeyState;
}

/** Simulates the process of the controllers: one manager with its own caches and queues. The constructor starts it. */
export class ControllerProcess {
  readonly requests: FaultyRequests;
  readonly #followed = new FollowedKinds();
  readonly #manager: Manager;
  readonly #abort = new AbortController();
  readonly #running: Promise<void>;
  readonly #parts: FailingParts;
  #lastError: unknown;

  constructor(parts: ProcessParts) {
    const { client, controllers, runnables = () => [], clock, random, uuid, source, wrap, onProblem } = parts;
    const forgotten = new ForgottenAwaits(onProblem);
    this.#parts = new FailingParts(clock);
    this.requests = new FaultyRequests({ ...source, isOver: (request) => forgotten.isOver(request) });
    const intercepted = new InterceptedClient({ client, interceptor: this.requests, clock, random });
    this.#manager = createManager({
      client: this.#followed.tracking(intercepted, wrap),
      controllers: controllers.map((each) => this.#parts.watching(forgotten.watching(each, () => this.requests))),
      runnables: runnables({ client: intercepted, clock }).map((each) => this.#parts.runnable(each)),
      clock,
      uuid,
      logger: { ...silentLogger, error: ({ err }) => (this.#lastError = err ?? this.#lastError) },
      metrics: new Metrics(),
      // A process that crashes does not complete any run.
      graceMs: 0,
    });
    // The manager starts in a later microtask, after the constructor has returned this object. A fault may crash the
    // process at the first request of a runnable, and the fault driver must then have this object, to stop it.
    this.#running = Promise.resolve().then(() => this.#manager.run(this.#abort.signal));
  }

  /** True when the process has nothing to do until the clock advances. */
  isIdle(): boolean {
    return this.#manager.isIdle();
  }

  /** True when the caches have the current state of the server, which is read with the given client. */
  haveCachesCaughtUp(client: Client): Promise<boolean> {
    return this.#followed.haveCaughtUp(client);
  }

  /** The keys that are retried, with their errors. */
  retried(): readonly FailingKey[] {
    return this.#manager.controllers().flatMap(({ name }) =>
      this.#manager
        .queue(name)
        .filter(({ attempts }) => attempts > 0)
        .map((state) => ({ controller: name, state })),
    );
  }

  /** True when a mapping or a source is being retried, and its first failure was less than `forMs` ago. */
  isRetryingParts(forMs: number): boolean {
    return this.#parts.isRetrying(forMs);
  }

  /** The keys whose last run failed. */
  failedKeys(): readonly FailedRun[] {
    return failedRuns(this.#manager);
  }

  /**
   * Returns a line for each key whose last run failed, and for each failed mapping, source and runnable. Call it when
   * the process is idle.
   */
  failed(): readonly string[] {
    return [...this.failedKeys().map(describeFailure), ...this.#parts.list()];
  }

  /** The last error that the manager logged; undefined when there is none. */
  get lastError(): unknown {
    return this.#lastError;
  }

  /**
   * Stops the process without a grace period. Resolves when everything has stopped. Until then, the caller must advance
   * the clock.
   */
  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#running;
  }
}
