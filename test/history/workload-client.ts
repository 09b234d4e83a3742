import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '@homeostat/controller-runtime/testing';
import type { CellClient, ListAnswer } from './cell-client.ts';
import type { Outcome, Expectation, ObjectState, Request } from './history.ts';
import { pick } from '../support/writes/random.ts';
import type { Recorder } from './recorder.ts';

export interface WorkloadParts {
  readonly name: string;
  readonly keys: readonly string[];
  readonly recorder: Recorder;
  readonly client: CellClient;
  /** The ports of all replicas. */
  readonly ports: readonly number[];
  readonly random: () => number;
}

/** The verbs of requests. Each verb is in the list as many times as its weight; the weights add up to 100. */
const verbs = [
  ...Array<'create'>(20).fill('create'),
  ...Array<'update'>(34).fill('update'),
  ...Array<'touch'>(6).fill('touch'),
  ...Array<'delete'>(12).fill('delete'),
  ...Array<'get'>(20).fill('get'),
  ...Array<'list'>(8).fill('list'),
];

const preconditions = ['none', 'none', 'revision', 'version', 'uid', 'all'] as const;

/** The kinds of lists: all objects, all objects in chunks of two, or one object. */
const lists = ['all', 'chunks', 'one'] as const;

/** The delay after a request that had no effect, for example because no server listens, or after a failed list. */
const restMs = 10;

/** The time limit for a server to accept a write, from the end of the last fault. */
const recoveryMs = 30_000;

/**
 * The next step of a client. All its random values are drawn together, so that responses do not change later random
 * values.
 */
interface Step {
  readonly verb: (typeof verbs)[number];
  readonly key: string;
  readonly port: number;
  readonly precondition: (typeof preconditions)[number];
  readonly list: (typeof lists)[number];
}

/** A client that sends random requests one after the other, each to a random replica. */
export class WorkloadClient {
  readonly #parts: WorkloadParts;
  /** The last state of each object that the client has received. */
  readonly #seen = new Map<string, ObjectState>();
  #written = 0;

  constructor(parts: WorkloadParts) {
    this.#parts = parts;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const step = this.#draw();
      const answer = await (step.verb === 'list'
        ? this.#list(step)
        : this.ask(step.key, this.#requestOf(step), step.port));
      if (answer === undefined) await delay(restMs);
    }
  }

  /** Creates the object if it is absent, and updates it until an update is acknowledged. Returns the new revision. */
  async write(key: string): Promise<number> {
    const [port = 0] = this.#parts.ports;
    return eventually(
      async () => {
        await this.ask(key, { verb: 'create', value: this.#nextValue() }, port);
        const answer = await this.ask(key, { verb: 'update', value: this.#nextValue(), expect: {} }, port);
        return answer?.kind === 'state' && answer.state.revision;
      },
      { timeoutMs: recoveryMs, describe: `a write of ${key} to be acknowledged` },
    );
  }

  /**
   * Sends a request to a replica, and records and returns the outcome. Records nothing and returns undefined when the
   * replica did not execute the request, for example because the replica is not running.
   */
  async ask(key: string, request: Request, port: number): Promise<Outcome | undefined> {
    const { name, recorder, client } = this.#parts;
    const call = recorder.moment();
    const answer = await client.perform(port, key, request);
    if (answer === undefined) return undefined;
    recorder.operation({ client: name, key, request, call }, answer);
    if (answer.kind === 'state') this.#seen.set(key, answer.state);
    return answer;
  }

  #draw(): Step {
    const { random, keys, ports } = this.#parts;
    return {
      verb: pick(random, verbs),
      key: pick(random, keys),
      port: pick(random, ports),
      precondition: pick(random, preconditions),
      list: pick(random, lists),
    };
  }

  #requestOf({ verb, key, precondition }: Step): Request {
    const seen = this.#seen.get(key);
    const expect = seen === undefined ? {} : expectationOf(seen, precondition);
    switch (verb) {
      case 'create':
        return { verb, value: this.#nextValue() };
      case 'update':
        return { verb, value: this.#nextValue(), expect };
      case 'touch':
        // A touch writes the value that this client saw last, without a change. The revision is a precondition. Without
        // the precondition, a touch could restore this value after another client has written a different value, but in
        // a history, each value must be written only once.
        return seen === undefined ? { verb: 'get' } : { verb, value: seen.value, expect: { revision: seen.revision } };
      case 'delete': {
        // A deletion cannot have the version as a precondition.
        const { version: _version, ...known } = expect;
        return { verb, expect: known };
      }
      case 'get':
      case 'list':
        return { verb: 'get' };
    }
  }

  async #list({ key, port, list }: Step): Promise<ListAnswer | undefined> {
    const { name, keys, recorder, client } = this.#parts;
    const call = recorder.moment();
    const answer = await client.list(port, {
      ...(list === 'one' ? { key } : {}),
      ...(list === 'chunks' ? { limit: 2 } : {}),
    });
    if (answer === undefined) return undefined;
    recorder.listing({ client: name, keys: list === 'one' ? [key] : keys, ...answer, call });
    for (const [each, state] of answer.states) this.#seen.set(each, state);
    return answer;
  }

  #nextValue(): string {
    this.#written += 1;
    return `${this.#parts.name}-${this.#written}`;
  }
}

function expectationOf({ uid, revision, version }: ObjectState, kind: Step['precondition']): Expectation {
  switch (kind) {
    case 'none':
      return {};
    case 'revision':
      return { revision };
    case 'version':
      return { version };
    case 'uid':
      return { uid };
    case 'all':
      return { uid, revision, version };
  }
}
