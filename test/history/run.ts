import { setTimeout as delay } from 'node:timers/promises';
import { eventually, seededRandom } from '@homeostat/controller-runtime/testing';
import { CellClient } from './cell-client.ts';
import type { HistoryDatabase } from './database.ts';
import { injectFaults } from './faults.ts';
import type { Fault } from './faults.ts';
import type { History } from './history.ts';
import type { Mutant } from './mutants.ts';
import { pick } from '../support/writes/random.ts';
import { Recorder } from './recorder.ts';
import { Replica } from './replica.ts';
import { Watcher } from './watcher.ts';
import { WorkloadClient } from './workload-client.ts';

export interface RecordedRunOptions {
  readonly database: HistoryDatabase;
  readonly replicas: number;
  readonly faults: readonly Fault[];
  readonly mutant?: Mutant;
  /** The seed of the random requests of clients, and of the faults and their times. */
  readonly seed: number;
  readonly durationMs: number;
}

export interface Run {
  readonly history: History;
  readonly faults: number;
}

/** The names of the objects: only a few, so that several clients use the same one. */
const keys = ['a', 'b', 'c', 'd', 'e', 'f'];
const clientCount = 8;
const minOperations = 300;

/** The time limit for watchers to receive the last writes, from the end of the last fault. */
const catchUpMs = 15_000;

/**
 * Runs clients and watchers against servers with faults, and returns the recorded history. Afterwards the servers have
 * ended; the database remains.
 */
export async function recordRun(options: RecordedRunOptions): Promise<Run> {
  const replicas: Replica[] = [];
  const client = new CellClient();
  try {
    for (let count = 0; count < options.replicas; count += 1) {
      replicas.push(await Replica.create(options.database, options.mutant));
    }
    for (const replica of replicas) await replica.start();
    return await new RunningHistory(options, replicas, client).record();
  } finally {
    client.close();
    await Promise.all(replicas.map((replica) => replica.stop()));
  }
}

class RunningHistory {
  readonly #options: RecordedRunOptions;
  readonly #replicas: readonly Replica[];
  readonly #recorder = new Recorder();
  readonly #clients: readonly WorkloadClient[];
  readonly #watchers: readonly Watcher[];
  readonly #faultRandom: () => number;

  constructor(options: RecordedRunOptions, replicas: readonly Replica[], client: CellClient) {
    this.#options = options;
    this.#replicas = replicas;
    const ports = replicas.map(({ port }) => port);
    const shared = { keys, recorder: this.#recorder, client };
    const seeds = seededRandom(options.seed);
    const nextRandom = (): (() => number) => seededRandom(seeds() * 2 ** 32);
    this.#faultRandom = nextRandom();
    this.#clients = Array.from({ length: clientCount }, (_, at) => {
      return new WorkloadClient({ ...shared, name: `client-${at}`, ports, random: nextRandom() });
    });
    // Two watchers follow all objects, and two follow one object each. In each pair, one watcher disconnects
    // repeatedly.
    this.#watchers = [undefined, undefined, 'a', 'b'].map((key, at) => {
      const random = nextRandom();
      const nextPort = (): number => pick(random, ports);
      const nextStayMs = (): number => (at % 2 === 0 ? options.durationMs * 2 : 100 + 900 * random());
      return new Watcher({ ...shared, name: `watcher-${at}`, key, nextPort, nextStayMs });
    });
  }

  async record(): Promise<Run> {
    // A watch from revision 0 would begin with the present objects instead of resuming. An empty database has revision
    // 0, so this write increases the revision.
    await this.#clients[0]!.write(keys[0]!);
    const watching = new AbortController();
    const watchers = this.#watchers.map((watcher) => watcher.run(watching.signal));
    try {
      const faults = await this.#work();
      await this.#finish();
      return { history: this.#recorder.history(keys), faults };
    } finally {
      watching.abort();
      await Promise.all(watchers);
    }
  }

  /** Runs clients and faults for the duration of the run. Returns the number of faults. */
  async #work(): Promise<number> {
    const { database, faults, durationMs } = this.#options;
    const working = new AbortController();
    const { signal } = working;
    const targets = { database, replicas: this.#replicas, watchers: this.#watchers };
    const injected = injectFaults(targets, { kinds: faults, random: this.#faultRandom, signal });
    const clients = Promise.all(this.#clients.map((client) => client.run(signal)));
    try {
      await Promise.race([this.#enough(durationMs), injected, clients]);
    } finally {
      working.abort();
      await Promise.allSettled([injected, clients]);
    }
    await clients;
    return injected;
  }

  /**
   * Waits for the duration, and on a busy machine until there are enough operations, because a few operations prove
   * nothing.
   */
  async #enough(durationMs: number): Promise<void> {
    await delay(durationMs);
    await eventually(() => this.#recorder.size >= minOperations, { timeoutMs: 30_000, describe: 'enough operations' });
  }

  /**
   * Writes each object a last time, waits until all watchers have received these writes, and reads all objects at each
   * replica. A change that a watcher has not received by then is lost.
   */
  async #finish(): Promise<void> {
    const last = this.#clients[0]!;
    const written = new Map<string, number>();
    for (const key of keys) written.set(key, await last.write(key));
    const isTold = ({ key, revision }: Watcher): boolean =>
      [...written].every(([each, latest]) => (key !== undefined && key !== each) || revision >= latest);
    // A timeout is ignored here, because the checkers report each watcher that has not received a write.
    await eventually(() => this.#watchers.every(isTold), { timeoutMs: catchUpMs }).catch(() => undefined);
    for (const { port } of this.#replicas) {
      for (const key of keys) await last.ask(key, { verb: 'get' }, port);
    }
  }
}
