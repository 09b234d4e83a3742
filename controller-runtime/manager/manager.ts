import { silentLogger } from '../api/index.ts';
import { aborted, linkAbort } from '../client/abort.ts';
import type { Client } from '../client/client.ts';
import { systemClock, systemRandom, systemUuid } from '../clock/system-clock.ts';
import { Controller, type ControllerParts } from '../controller/controller.ts';
import type { ControllerDefinition } from '../controller/definition/controller-definition.ts';
import type { OwnedSource, WatchSource } from '../controller/definition/followed-kind.ts';
import { durationOption } from '../controller/definition/parse-duration.ts';
import type { RunRecord } from '../controller/observe/run-history.ts';
import { electionSettings, type ElectionSettings, type LeaderElectionOptions } from '../election/election-options.ts';
import { LeaderClient } from '../election/leader-client.ts';
import type { KeyState, QueueSizes } from '../queue/key-state.ts';
import { containLogger } from '../client/contain-logger.ts';
import { createLeaderStatus, Metrics } from '../telemetry/metrics.ts';
import { startProcessMetrics } from '../telemetry/process-metrics.ts';
import { Candidacy } from './candidacy.ts';
import type { ControllerStatus } from './controller-status.ts';
import type { ManagerOptions } from './manager-options.ts';
import { startPart, stopPart, stopParts, type Part } from './part.ts';
import { createReporter, type Reporter } from '../controller/report/reporter.ts';
import type { Runnable } from './runnable.ts';
import { ShardedController, shardSettings } from './sharded-controller.ts';
import { StandbyCaches } from './standby-caches.ts';

const noKeys: QueueSizes = Object.freeze({ processing: 0, parked: 0, delayed: 0, ready: 0 });

/** The handle of a source that {@link Manager.addWatch} added to a controller. */
export interface WatchHandle {
  /** True when the controller has received every object that existed when the source was added. */
  hasSynced(): boolean;
  /** Removes the source: its later events enqueue no keys. Further calls have no effect. */
  remove(): void;
}

type ManagerState = 'created' | 'running' | 'stopped';

/** Runs controllers and other long-running parts. The failure of a part is logged, and the other parts continue. */
export class Manager {
  readonly #options: Required<Pick<ManagerOptions, 'client' | 'clock' | 'logger' | 'uuid' | 'metrics'>>;
  readonly #ownsMetrics: boolean;
  readonly #cacheSyncTimeoutMs: number;
  readonly #graceMs: number;
  readonly #runnables: readonly Runnable[];
  readonly #report: { readonly name: string; readonly by: Reporter } | undefined;
  /** The reporter that is closed with the manager; undefined when the reporter is shared, or there is none. */
  readonly #ownReporter: Reporter | undefined;
  readonly #candidacy: Candidacy | undefined;
  readonly #election: ElectionSettings | undefined;
  readonly #random: () => number;
  readonly #caches: StandbyCaches | undefined;
  readonly #definitions = new Map<string, ControllerDefinition>();
  readonly #controllers = new Map<string, Controller>();
  readonly #sharded = new Map<string, ShardedController>();
  readonly #parts = new Map<string, Part>();
  /** The controllers that are being removed, by name. They are not started after an election. */
  readonly #leaving = new Map<string, Promise<void>>();
  /** The client of the controllers that are not sharded; undefined until these controllers may run. */
  #client: Client | undefined;
  /**
   * True once the caches are synced, or the time limit for them has passed. Sharded controllers then start, because
   * they do not wait for the manager's election.
   */
  #mayShard = false;
  #state: ManagerState = 'created';

  constructor(options: ManagerOptions) {
    const { client, clock = systemClock, uuid = systemUuid, random = systemRandom } = options;
    const { controllers = [], runnables = [], leaderElection, metrics = new Metrics() } = options;
    const logger = containLogger(options.logger ?? silentLogger);
    this.#options = { client, clock, logger, uuid, metrics };
    this.#ownsMetrics = options.metrics === undefined;
    this.#cacheSyncTimeoutMs = durationOption('cacheSyncTimeoutMs', options.cacheSyncTimeoutMs ?? '2m');
    this.#graceMs = durationOption('graceMs', options.graceMs ?? '30s');
    this.#runnables = [...runnables];
    this.#random = random;
    if (options.report !== undefined) {
      const { name, by } = options.report;
      if (by === undefined) this.#ownReporter = createReporter({ client, clock, logger });
      const reporter = by ?? this.#ownReporter;
      if (reporter !== undefined) this.#report = { name, by: reporter };
    }
    if (leaderElection !== undefined) {
      const setLeader = createLeaderStatus(metrics, leaderElection.name);
      const observe: LeaderElectionOptions['observe'] = (status) => {
        setLeader(status.isLeader);
        leaderElection.observe?.(status);
      };
      this.#election = electionSettings({ ...leaderElection, observe }, uuid);
      this.#candidacy = new Candidacy(this.#election, { client, clock, logger, random });
    }
    const needsCaches = leaderElection !== undefined || runnables.some(({ needs }) => needs === 'caches');
    if (needsCaches) this.#caches = new StandbyCaches({ client, clock, logger });
    for (const definition of controllers) this.add(definition);
  }

  /**
   * First starts the parts that need nothing, then the caches. Then starts the sharded controllers, and the parts that
   * need the caches. Once elected, starts the other controllers, and the parts that need leadership. Without an
   * election, the controllers start at the same time as the caches. Runs until the signal aborts, and then stops
   * everything in reverse order: the lease is released last. Settles when everything has stopped. Rejects when it was
   * called before. Also rejects when the lease is lost (see `isFormerLeader`): the process can continue, and a new
   * manager can take part in the next election.
   */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#state !== 'created') throw new Error('run() can be called only once for a manager');
    this.#state = 'running';
    const stopMeasuring = this.#ownsMetrics ? startProcessMetrics(this.#options.metrics) : undefined;
    const until = new AbortController();
    const unlink = linkAbort(until, signal);
    const first = this.#startRunnables('nothing', this.#options.client);
    const later: Part[] = [];
    try {
      for (const definition of this.#definitions.values()) this.#caches?.follow(definition);
      if (this.#candidacy === undefined) this.#startControllers(this.#options.client);
      await this.#caches?.synced(this.#cacheSyncTimeoutMs, until.signal);
      if (!until.signal.aborted) {
        later.push(...this.#startRunnables('caches', this.#options.client));
        this.#startSharded();
      }
      await this.#lead(until);
    } finally {
      unlink();
      this.#state = 'stopped';
      await stopParts(later);
      await this.#caches?.stop();
      await this.#ownReporter?.close();
      await stopParts(first);
      await this.#candidacy?.leave();
      stopMeasuring?.();
    }
  }

  /** Once elected, runs the parts that need leadership, until `until` aborts. Rejects when the lease is lost. */
  async #lead(until: AbortController): Promise<void> {
    const term = await this.#candidacy?.stand(until.signal);
    const unlink = linkAbort(until, term?.signal);
    const isOurs = !until.signal.aborted && (this.#candidacy === undefined || term !== undefined);
    const client = term === undefined ? this.#options.client : new LeaderClient(this.#options.client, term);
    if (term !== undefined && isOurs) this.#startControllers(client);
    const parts = isOurs ? this.#startRunnables('leadership', client) : [];
    await aborted(until.signal);
    this.#state = 'stopped';
    await Promise.all([stopParts(this.#parts.values()), stopParts(parts)]);
    unlink();
    term?.check();
  }

  /**
   * Adds a controller. A running manager starts it, if necessary after the election. Throws when the name is taken,
   * when the manager has stopped, or when the name of a shard's lease would be too long.
   */
  add(definition: ControllerDefinition): void {
    const { name } = definition;
    if (this.#state === 'stopped') throw new Error(`cannot add controller "${name}": the manager has stopped`);
    if (this.#definitions.has(name)) {
      throw new Error(`there is a controller "${name}" already: give one of the two another name`);
    }
    shardSettings(this.#election, definition);
    this.#definitions.set(name, definition);
    if (this.#state !== 'running') return;
    this.#caches?.follow(definition);
    const client = this.#isSharded(definition) ? this.#mayShard && this.#options.client : this.#client;
    if (client !== undefined && client !== false) this.#start(definition, client);
  }

  /**
   * Makes a controller follow another kind. A running controller follows the kind from now on, and first receives the
   * existing objects. The controller follows the kind until `remove` of the returned handle is called, or the
   * controller is removed. Throws when there is no such controller.
   */
  addWatch(controllerName: string, source: OwnedSource | WatchSource): WatchHandle {
    const name = this.#nameOf(controllerName);
    this.#replace(name, ({ owns, watches }) =>
      source.map === undefined ? { owns: [...owns, source] } : { watches: [...watches, source] },
    );
    this.#controllers.get(name)?.addSource(source);
    return {
      hasSynced: () => this.#controllers.get(name)?.hasSyncedSource(source) === true,
      remove: () => this.#removeWatch(name, source),
    };
  }

  #removeWatch(name: string, source: OwnedSource | WatchSource): void {
    this.#replace(name, ({ owns, watches }) => ({
      owns: owns.filter((other) => other !== source),
      watches: watches.filter((other) => other !== source),
    }));
    this.#controllers.get(name)?.removeSource(source);
  }

  /** Changes a controller's definition. Takes effect at the controller's next start, such as after an election. */
  #replace(name: string, change: (definition: ControllerDefinition) => Partial<ControllerDefinition>): void {
    const definition = this.#definitions.get(name);
    if (definition !== undefined) this.#definitions.set(name, Object.freeze({ ...definition, ...change(definition) }));
  }

  /**
   * Stops a controller within the grace period, and removes it. Resolves when it has stopped, or at once when there is
   * no such controller.
   */
  async remove(name: string): Promise<void> {
    const leaving = this.#leaving.get(name) ?? this.#remove(name);
    this.#leaving.set(name, leaving);
    await leaving;
    this.#leaving.delete(name);
  }

  async #remove(name: string): Promise<void> {
    const part = this.#parts.get(name);
    if (part !== undefined) await stopPart(part);
    await this.#caches?.unfollow(name);
    this.#parts.delete(name);
    this.#controllers.delete(name);
    this.#sharded.delete(name);
    this.#definitions.delete(name);
  }

  /** All controllers, in the order in which they were added. */
  controllers(): readonly ControllerStatus[] {
    return [...this.#definitions.values()].map(({ name, model: { group, version, kind } }) => {
      const controller = this.#controllers.get(name);
      const problem = controller?.healthProblem();
      const shards = this.#sharded.get(name)?.shards;
      return {
        name,
        model: { group, version, kind },
        sizes: controller?.sizes() ?? noKeys,
        ...(shards === undefined ? {} : { shards }),
        ...(problem === undefined ? {} : { problem }),
      };
    });
  }

  /**
   * Returns the states of at most `limit` keys (default: all) in the queue of the controller with this name or kind.
   * The list is empty before the controller is started. Throws when there is no such controller.
   */
  queue(nameOrKind: string, limit?: number): readonly KeyState[] {
    return this.#controllers.get(this.#nameOf(nameOrKind))?.keys(limit) ?? [];
  }

  /** Returns the state of a key; undefined when it is not in the queue. Throws when there is no such controller. */
  stateOf(nameOrKind: string, key: string): KeyState | undefined {
    return this.#controllers.get(this.#nameOf(nameOrKind))?.stateOf(key);
  }

  /**
   * Returns at most the last ten runs of a key (`name`, or `namespace/name`), the newest first. Without a key, returns
   * the last run of each key, for the thousand keys with the latest runs. Returns at most `limit` runs (default: all).
   * Throws when there is no controller with this name or kind.
   */
  runs(nameOrKind: string, options: { readonly key?: string; readonly limit?: number } = {}): readonly RunRecord[] {
    const { key, limit = Infinity } = options;
    return this.#controllers.get(this.#nameOf(nameOrKind))?.runs(key, limit) ?? [];
  }

  /** Returns the metrics of the controllers, and of other code with the same `Metrics`, as text for Prometheus. */
  metrics(): string {
    return this.#options.metrics.text();
  }

  /**
   * True when all controllers have started, no key is ready or being processed, and every watch event is delivered.
   * Delayed and parked keys do not count. A manager that waits for its election is also idle if another process leads.
   */
  isIdle(): boolean {
    if (this.#state !== 'running') return false;
    if (this.#client === undefined && this.#candidacy?.seesOther !== true) return false;
    const controllers = [...this.#controllers.values()].every((controller) => controller.isIdle());
    return controllers && [...this.#sharded.values()].every(({ isSettled }) => isSettled);
  }

  /** Returns the reason why a manager should be restarted; undefined when there is none. */
  healthProblem(): string | undefined {
    const ofControllers = [...this.#controllers.values()].map((controller) => controller.healthProblem());
    const ofShards = Array.from(this.#sharded.values(), (each) => each.healthProblem());
    const first = [...ofShards, ...ofControllers].find((problem) => problem !== undefined);
    return this.#candidacy?.healthProblem() ?? first;
  }

  /**
   * Returns the reason why the manager is not ready; undefined when it is ready, even while it waits for its election.
   */
  readinessProblem(): string | undefined {
    if (this.#state !== 'running') return this.#state === 'created' ? 'not started' : 'stopped';
    const unsynced = this.#caches?.unsynced() ?? this.#unsyncedControllers();
    return unsynced.length === 0 ? undefined : `caches are not synced: ${unsynced.join(', ')}`;
  }

  #unsyncedControllers(): readonly string[] {
    return [...this.#controllers].filter(([, controller]) => !controller.hasSynced()).map(([name]) => name);
  }

  #startControllers(client: Client): void {
    this.#client = client;
    for (const definition of this.#definitions.values())
      if (!this.#leaving.has(definition.name) && !this.#isSharded(definition)) this.#start(definition, client);
  }

  #startSharded(): void {
    this.#mayShard = true;
    for (const definition of this.#definitions.values())
      if (!this.#leaving.has(definition.name) && this.#isSharded(definition))
        this.#start(definition, this.#options.client);
  }

  /** True when several processes share the keys of the controller. */
  #isSharded(definition: ControllerDefinition): boolean {
    return definition.shards !== undefined && this.#election !== undefined;
  }

  #nameOf(nameOrKind: string): string {
    const byKind = [...this.#definitions.values()].find((definition) => definition.model.kind === nameOrKind);
    const name = this.#definitions.has(nameOrKind) ? nameOrKind : byKind?.name;
    if (name === undefined) throw new Error(`there is no controller "${nameOrKind}"`);
    return name;
  }

  #start(definition: ControllerDefinition, client: Client): void {
    const { name } = definition;
    const work = async (signal: AbortSignal): Promise<void> => {
      try {
        const settings = shardSettings(this.#election, definition);
        if (settings === undefined) await this.#createController(definition, client).run(signal);
        else await this.#createSharded(definition, settings).run(signal, name);
      } catch (error) {
        this.#controllers.delete(name);
        this.#sharded.delete(name);
        throw error;
      }
    };
    this.#parts.set(
      name,
      startPart((signal) => this.#contain(name, () => work(signal))),
    );
  }

  #createController(definition: ControllerDefinition, client: Client): Controller {
    const candidacy = this.#candidacy;
    const graceMs = this.#graceMs;
    const isSharded = this.#isSharded(definition);
    const controller = new Controller(definition, {
      ...this.#options,
      ...this.#follower(definition),
      ...(isSharded ? { shards: definition.shards } : {}),
      client,
      cacheSyncTimeoutMs: this.#cacheSyncTimeoutMs,
      // The controller reads this when it stops. If the manager has lost its lease, the controller does not wait for
      // its runs, because another process does the work. With shards it waits: each shard has its own lease.
      get graceMs() {
        return candidacy?.hasLost === true && !isSharded ? 0 : graceMs;
      },
    });
    this.#controllers.set(definition.name, controller);
    return controller;
  }

  #createSharded(
    definition: ControllerDefinition,
    settings: NonNullable<ReturnType<typeof shardSettings>>,
  ): ShardedController {
    const controller = this.#createController(definition, this.#options.client);
    const sharded = new ShardedController(settings, { ...this.#options, random: this.#random, controller });
    this.#sharded.set(definition.name, sharded);
    return sharded;
  }

  #follower(definition: ControllerDefinition): Pick<ControllerParts, 'follow'> {
    const report = this.#report;
    if (report === undefined) return {};
    const candidacy = this.#candidacy;
    const part = {
      name: report.name,
      definition,
      leader: candidacy?.leader,
      mayWrite: () => candidacy?.hasLost !== true,
    };
    return { follow: (controller, shard) => report.by.follow({ ...part, ...shard }, controller) };
  }

  #startRunnables(needs: Runnable['needs'], client: Client): Part[] {
    const runnables = this.#runnables.filter((runnable) => (runnable.needs ?? 'nothing') === needs);
    return runnables.map((runnable) =>
      startPart((own) => this.#contain(runnable.name, () => runnable.run(own, { client }))),
    );
  }

  async #contain(part: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#options.logger.error({ part, err: error }, 'a part of the manager failed; the others continue');
    }
  }
}

/** Makes a manager. It does nothing before its `run` is called. */
export function createManager(options: ManagerOptions): Manager {
  return new Manager(options);
}
