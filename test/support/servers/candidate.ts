import { controller, createManager } from '@homeostat/controller-runtime';
import type { Client, Manager } from '@homeostat/controller-runtime';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { Person } from '../models/models.ts';

/** A simulated network connection, which can hold back the requests of a client. */
class Line {
  underWay = 0;
  #cut: Promise<void> | undefined;
  #heal: (() => void) | undefined;

  /** Holds back requests until {@link heal}. Then they are sent. */
  cut(): void {
    this.#cut = new Promise((resolve) => (this.#heal = resolve));
  }

  heal(): void {
    this.#cut = undefined;
    this.#heal?.();
  }

  /** Returns a client whose requests use this connection. */
  through(client: Client): Client {
    return new Proxy(client, {
      get: (target, name) => {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        const call = (...parameters: unknown[]): unknown => Reflect.apply(method, target, parameters);
        // Informers and watches are not held back, because a former leader that still receives all changes is the worst
        // case.
        return name === 'informer' || name === 'watch'
          ? call
          : (...parameters: unknown[]) => this.#send(() => call(...parameters));
      },
    });
  }

  async #send(call: () => unknown): Promise<unknown> {
    const cut = this.#cut;
    if (cut !== undefined) await cut;
    this.underWay += 1;
    try {
      return await call();
    } finally {
      this.underWay -= 1;
    }
  }
}

/**
 * A manager with its own clock and connection. Its controller writes the name of the candidate as the greeting of each
 * person. The test can hold back these writes.
 */
export class Candidate {
  readonly name: string;
  readonly clock: FakeClock = new FakeClock();
  readonly line: Line = new Line();
  readonly errors: unknown[] = [];
  isLeader = false;
  /** The names of the persons whom the controller has started to greet. */
  readonly greeting: string[] = [];
  /** The error with which `run` of the manager rejected. */
  failure: unknown;
  readonly #manager: Manager;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #letGo: (() => void) | undefined;
  #held: Promise<void> | undefined;

  constructor(name: string, client: Client) {
    this.name = name;
    const { clock } = this;
    this.#manager = createManager({
      client: this.line.through(client),
      clock,
      random: () => 0.5,
      controllers: [controller(Person, { name: 'greeter', reconcile: (run) => this.#greet(run.name, run.client) })],
      leaderElection: { name: 'greeter', identity: name, observe: ({ isLeader }) => void (this.isLeader = isLeader) },
    });
    this.#running = this.#manager.run(this.#stop.signal).catch((error: unknown) => void (this.failure = error));
  }

  /** True when another candidate leads: this candidate is not the leader, and its manager is idle. */
  get isWaiting(): boolean {
    return !this.isLeader && this.#manager.isIdle();
  }

  /** From now on, a run of the controller waits before it writes a greeting, until the test calls {@link letGo}. */
  hold(): void {
    this.#held = new Promise((resolve) => (this.#letGo = resolve));
  }

  letGo(): void {
    this.#held = undefined;
    this.#letGo?.();
  }

  /**
   * Advances the clock of this candidate, and waits for its requests at each step, until the condition is true. Rejects
   * after two minutes of this clock.
   */
  async passUntil(condition: () => boolean): Promise<void> {
    for (let steps = 0; steps < 240 && !condition(); steps += 1) {
      await this.clock.advance(500);
      await eventually(() => this.line.underWay === 0);
    }
    if (!condition()) throw new Error(`${this.name}: the condition did not become true`);
  }

  async pass(ms: number): Promise<void> {
    const untilMs = this.clock.monotonicMs() + ms;
    await this.passUntil(() => this.clock.monotonicMs() >= untilMs);
  }

  async stop(): Promise<void> {
    this.line.heal();
    this.letGo();
    this.#stop.abort();
    let isOver = false;
    const ended = this.#running.then(() => (isOver = true));
    await eventually(async () => {
      await this.clock.advance(1000);
      return isOver;
    });
    await ended;
  }

  async #greet(name: string, client: Client): Promise<void> {
    this.greeting.push(name);
    await this.#held;
    try {
      await client.patch(Person, name, { type: 'merge', patch: { status: { greeting: this.name } } });
    } catch (error) {
      this.errors.push(error);
      throw error;
    }
  }
}
