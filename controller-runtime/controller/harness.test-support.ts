import { expect } from 'chai';
import { descriptorOf, type ApiObject, type Logger, type Model, type ModelDescriptor } from '../api/index.ts';
import { createManager, type Manager } from '../manager/manager.ts';
import type { ManagerOptions } from '../manager/manager-options.ts';
import { controller, type ControllerOptions } from './definition/controller-definition.ts';
import { FakeClock } from '../testing/fakes/fake-clock.ts';
import { FakeClient } from './fake-client.test-support.ts';

export interface Person extends ApiObject {
  readonly spec: { readonly name: string; readonly team?: string };
  readonly status?: { readonly greeting?: string; readonly observedGeneration?: number; readonly seen?: number };
}

export interface Badge extends ApiObject {
  readonly spec: { readonly text: string; readonly colour?: string };
}

const group = 'people.example.com';

function model<T extends ApiObject>(kind: string, parts: Partial<ModelDescriptor<T>> = {}): ModelDescriptor<T> {
  const singular = kind.toLowerCase();
  return Object.freeze({
    group,
    version: 'v1alpha1',
    kind,
    plural: `${singular}s`,
    singular,
    scope: 'Cluster',
    nameFormat: 'label',
    subresources: [],
    shortNames: [],
    categories: [],
    printerColumns: [],
    schemaName: kind,
    components: {},
    indexes: [],
    ...parts,
  });
}

export const Person: ModelDescriptor<Person> = model<Person>('Person', {
  components: {
    Person: { type: 'object', properties: { status: { $ref: '#/components/schemas/PersonStatus' } } },
    PersonStatus: { type: 'object', properties: { observedGeneration: { type: 'integer' } } },
  },
});
export const Badge: ModelDescriptor<Badge> = model<Badge>('Badge');
export const Team: ModelDescriptor<Badge> = model<Badge>('Team');

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/**
 * Returns a function that makes the harness of a test, with one controller of the kind Person. The harness is stopped
 * after the test, and must leave no timer.
 */
export function eachHarness(): (options: ControllerOptions<Person>) => Harness {
  let harness: Harness | undefined;
  afterEach(async () => {
    await harness?.stop();
    expect(harness?.clock.pendingTimers ?? 0).to.equal(0);
    harness = undefined;
  });
  return (options) => (harness = new Harness({ controllers: [controller(Person, options)] }));
}

/** A manager, a fake client and a fake clock for a test of controllers. Only the test advances the clock. */
export class Harness {
  readonly clock: FakeClock = new FakeClock();
  readonly client: FakeClient = new FakeClient();
  readonly log: LogLine[] = [];
  readonly manager: Manager;
  readonly #abort = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: Omit<ManagerOptions, 'client' | 'clock' | 'logger'>) {
    const { clock, client } = this;
    this.manager = createManager({ ...options, clock, client, logger: this.#logger() });
  }

  /** Starts the manager and waits until it has nothing to do. */
  async start(): Promise<void> {
    this.#running = this.manager.run(this.#abort.signal);
    await this.idle();
  }

  /** Starts the manager without waiting for anything. */
  startOnly(): void {
    this.#running = this.manager.run(this.#abort.signal);
    // A rejection is reported by `stop`, which is called later.
    this.#running.catch(() => undefined);
  }

  /**
   * Waits until no key is ready or being processed, and all events are delivered. The clock does not advance meanwhile.
   */
  async idle(): Promise<void> {
    await this.holds(() => this.manager.isIdle());
  }

  /**
   * Waits until a condition is true in several consecutive turns of the event loop. The clock does not advance
   * meanwhile.
   */
  async holds(condition: () => boolean): Promise<void> {
    let stable = 0;
    for (let turn = 0; turn < 5000 && stable < 6; turn += 1) {
      stable = condition() ? stable + 1 : 0;
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (stable < 6) throw new Error('the condition did not become true');
  }

  /** Stops the manager; resolves when it and all its parts have stopped. */
  async stop(): Promise<void> {
    this.beginStop();
    await this.#running;
  }

  beginStop(): void {
    this.#abort.abort();
  }

  /** Creates a person without an entry in the log of requests. */
  async person(name: string, spec: Person['spec'] = { name }): Promise<Person> {
    return this.#unlogged(() => this.client.create<Person>(Person, { metadata: { name }, spec }));
  }

  /** Merges a patch into an object, as another client would. */
  async change<T extends ApiObject>(of: Model<T>, name: string, patch: object): Promise<T> {
    return this.#unlogged(() => this.client.patch(descriptorOf(of), name, { type: 'merge', patch }));
  }

  async delete(of: Model, name: string): Promise<void> {
    await this.#unlogged(() => this.client.delete(of, name));
  }

  lines(level: LogLine['level']): readonly LogLine[] {
    return this.log.filter((line) => line.level === level);
  }

  async #unlogged<R>(request: () => Promise<R>): Promise<R> {
    const answer = request();
    this.client.requests.pop();
    return answer;
  }

  #logger(): Logger {
    const at = (level: LogLine['level']) => (fields: LogLine['fields'], message: string) => {
      this.log.push({ level, fields, message });
    };
    return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
  }
}
