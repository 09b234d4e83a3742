import { silentLogger, type Clock, type GroupVersionKind, type Logger } from '../api/index.ts';
import type { Client } from '../client/client.ts';
import { systemClock, systemUuid } from '../clock/system-clock.ts';
import { Controller } from '../controller/controller.ts';
import type { ControllerDefinition } from '../controller/controller-definition.ts';
import { parseDuration, type Duration } from '../controller/parse-duration.ts';
import type { RunRecord } from '../controller/run-history.ts';
import type { KeyState, QueueSizes } from '../queue/key-state.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { startProcessMetrics } from '../telemetry/process-metrics.ts';
import type { Runnable } from './runnable.ts';

export interface ManagerOptions {
  /** What the controllers read and write with; in process or over HTTP. */
  readonly client: Client;
  readonly controllers?: readonly ControllerDefinition[];
  /** Started before the controllers, stopped after them. */
  readonly runnables?: readonly Runnable[];
  /** Default: the real time. */
  readonly clock?: Clock;
  /** Default: silent. */
  readonly logger?: Logger;
  /** Makes the reconcileID of each run. Default: random UUIDs. */
  readonly uuid?: () => string;
  /** How long caches may take to sync before an error names them; the wait goes on. Default 2 minutes. */
  readonly cacheSyncTimeoutMs?: Duration;
  /** How long a stop waits for reconciles under way before it abandons them. Default 30 s. */
  readonly graceMs?: Duration;
  /** What the controllers count in. Default: metrics of this manager's own, which measure the process as well. */
  readonly metrics?: Metrics;
}

/** A controller of a manager, as it is now. */
export interface ControllerStatus {
  readonly name: string;
  /** What it reconciles. */
  readonly model: GroupVersionKind;
  /** All 0 before it is started. */
  readonly sizes: QueueSizes;
}

/** A part that the manager runs. */
interface Part {
  readonly abort: AbortController;
  readonly stopped: Promise<void>;
}

const noKeys: QueueSizes = Object.freeze({ processing: 0, parked: 0, delayed: 0, ready: 0 });

type ManagerState = 'created' | 'running' | 'stopped';

/** Runs controllers and other long-living parts. What fails in one of them is logged by name, and touches no other. */
export class Manager {
  readonly #options: Required<Pick<ManagerOptions, 'client' | 'clock' | 'logger' | 'uuid' | 'metrics'>>;
  readonly #ownsMetrics: boolean;
  readonly #cacheSyncTimeoutMs: number;
  readonly #graceMs: number;
  readonly #runnables: readonly Runnable[];
  readonly #definitions = new Map<string, ControllerDefinition>();
  readonly #controllers = new Map<string, Controller>();
  readonly #parts = new Map<string, Part>();
  /** Names whose controller is on its way out. */
  readonly #leaving = new Set<string>();
  #state: ManagerState = 'created';

  constructor(options: ManagerOptions) {
    const { client, clock = systemClock, logger = silentLogger, uuid = systemUuid } = options;
    const { controllers = [], runnables = [], metrics = new Metrics() } = options;
    this.#options = { client, clock, logger, uuid, metrics };
    this.#ownsMetrics = options.metrics === undefined;
    this.#cacheSyncTimeoutMs = parseDuration(options.cacheSyncTimeoutMs ?? '2m');
    this.#graceMs = parseDuration(options.graceMs ?? '30s');
    this.#runnables = [...runnables];
    for (const definition of controllers) this.add(definition);
  }

  /**
   * Starts everything, works until the signal aborts, and stops in reverse. Settles when all of it has stopped.
   * Rejects when it was run before.
   */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#state !== 'created') throw new Error('a manager runs once');
    this.#state = 'running';
    const stopMeasuring = this.#ownsMetrics ? startProcessMetrics(this.#options.metrics) : undefined;
    const runnables = this.#runnables.map((runnable) =>
      startPart((own) => this.#contain(runnable.name, () => runnable.run(own))),
    );
    for (const definition of this.#definitions.values()) this.#start(definition);
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    this.#state = 'stopped';
    await Promise.all([...this.#parts.values()].map(stopPart));
    await Promise.all(runnables.map(stopPart));
    stopMeasuring?.();
  }

  /** Adds a controller; a running manager starts it. Throws when one of that name is there, or after the stop. */
  add(definition: ControllerDefinition): void {
    const { name } = definition;
    if (this.#state === 'stopped') throw new Error(`cannot add controller "${name}": the manager has stopped`);
    if (this.#definitions.has(name)) {
      throw new Error(`there is a controller "${name}" already: give one of them another name`);
    }
    this.#definitions.set(name, definition);
    if (this.#state === 'running') this.#start(definition);
  }

  /** Stops a controller, within the grace, and takes it out. Resolves when it has stopped; at once when there is none. */
  async remove(name: string): Promise<void> {
    const part = this.#parts.get(name);
    if (part !== undefined && !this.#leaving.has(name)) {
      this.#leaving.add(name);
      await stopPart(part);
      this.#leaving.delete(name);
      this.#parts.delete(name);
      this.#controllers.delete(name);
    } else await part?.stopped;
    this.#definitions.delete(name);
  }

  /** Every controller, in the order they were added. */
  controllers(): readonly ControllerStatus[] {
    return [...this.#definitions.values()].map(({ name, model }) => ({
      name,
      model: { group: model.group, version: model.version, kind: model.kind },
      sizes: this.#controllers.get(name)?.sizes() ?? noKeys,
    }));
  }

  /**
   * Where each key of a controller stands, the first `limit` of them (default all); by the controller's name, or by its
   * kind. Empty before it is started. Throws when there is none.
   */
  queue(nameOrKind: string, limit?: number): readonly KeyState[] {
    return this.#controllers.get(this.#nameOf(nameOrKind))?.keys(limit) ?? [];
  }

  /** Where one key of a controller stands; undefined when it is not in the queue. Throws when there is no such controller. */
  stateOf(nameOrKind: string, key: string): KeyState | undefined {
    return this.#controllers.get(this.#nameOf(nameOrKind))?.stateOf(key);
  }

  /**
   * The last runs of a key (`name`, or `namespace/name`), at most ten, the newest first; without a key, the last run of each
   * of the thousand keys that ran last. By the controller's name, or its kind. Throws when there is none.
   */
  runs(nameOrKind: string, options: { readonly key?: string; readonly limit?: number } = {}): readonly RunRecord[] {
    const { key, limit = Infinity } = options;
    return this.#controllers.get(this.#nameOf(nameOrKind))?.runs(key, limit) ?? [];
  }

  /** The metrics of its controllers, and of whatever else counts in the same, as text for Prometheus. */
  metrics(): string {
    return this.#options.metrics.text();
  }

  /**
   * All controllers work, no key of theirs is ready or being processed, and every event is delivered. Keys that wait
   * for their time (`after`, back-off) or are parked do not count.
   */
  isIdle(): boolean {
    return this.#state === 'running' && [...this.#controllers.values()].every((controller) => controller.isIdle());
  }

  #nameOf(nameOrKind: string): string {
    const byKind = [...this.#definitions.values()].find((definition) => definition.model.kind === nameOrKind);
    const name = this.#definitions.has(nameOrKind) ? nameOrKind : byKind?.name;
    if (name === undefined) throw new Error(`there is no controller "${nameOrKind}"`);
    return name;
  }

  #start(definition: ControllerDefinition): void {
    const { name } = definition;
    this.#parts.set(
      name,
      startPart((signal) => this.#contain(name, () => this.#createController(definition).run(signal))),
    );
  }

  #createController(definition: ControllerDefinition): Controller {
    const controller = new Controller(definition, {
      ...this.#options,
      cacheSyncTimeoutMs: this.#cacheSyncTimeoutMs,
      graceMs: this.#graceMs,
    });
    this.#controllers.set(definition.name, controller);
    return controller;
  }

  async #contain(part: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#options.logger.error({ part, err: error }, 'a part of the manager failed; the others go on');
      this.#controllers.delete(part);
    }
  }
}

/** Makes a manager; nothing happens before its `run`. */
export function createManager(options: ManagerOptions): Manager {
  return new Manager(options);
}

function startPart(run: (signal: AbortSignal) => Promise<void>): Part {
  const abort = new AbortController();
  return { abort, stopped: run(abort.signal) };
}

async function stopPart({ abort, stopped }: Part): Promise<void> {
  abort.abort();
  await stopped;
}
