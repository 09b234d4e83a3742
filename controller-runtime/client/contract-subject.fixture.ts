import type { ModelDescriptor, WatchEvent } from '../api/index.ts';
import type { Client, WatchOptions } from './client.ts';
import { Badge, Person } from './example-person.fixture.ts';

export interface OpenedClient {
  readonly client: Client;
  /** Breaks the open connections of the client; absent for a client that has no connections. */
  readonly interrupt?: () => void;
  /** Registers a kind, for the first time or again. Resolves when the kind is served. */
  readonly serve: (model: ModelDescriptor) => Promise<void>;
  readonly withdraw: (model: ModelDescriptor) => void;
  readonly close: () => Promise<void>;
}

/** Starts an empty server that serves the models, and makes a client for this server. */
export type OpenClient = (models: readonly ModelDescriptor[]) => Promise<OpenedClient>;

/** The label that separates the objects of a test from those of other tests. */
export const caseLabel = 'contract.example.com/case';

/** The client that a suite of contract tests uses. It is opened before the first test, and closed after the last. */
export class ContractSubject {
  #opened: OpenedClient | undefined;
  #cases = 0;

  /** Registers the hooks in the mocha suite whose `describe` is running. */
  constructor(open: OpenClient) {
    before('open', async () => {
      this.#opened = await open([Person, Badge]);
    });
    after('close', async () => {
      await this.#opened?.close();
    });
  }

  get client(): Client {
    return this.#open.client;
  }

  interrupt(): void {
    this.#open.interrupt?.();
  }

  serve(model: ModelDescriptor): Promise<void> {
    return this.#open.serve(model);
  }

  withdraw(model: ModelDescriptor): void {
    this.#open.withdraw(model);
  }

  get #open(): OpenedClient {
    if (this.#opened === undefined) throw new Error('the client is not open before the first test');
    return this.#opened;
  }

  /** Starts a case: the objects of one test, with their own names and label. */
  newCase(): ContractCase {
    this.#cases += 1;
    return new ContractCase(this.client, `case-${this.#cases}`);
  }
}

/**
 * Creates the objects of one test. Their names and their label differ from those of other tests, so that tests on one
 * server do not see each other's objects.
 */
export class ContractCase {
  readonly id: string;
  readonly selector: string;
  readonly #client: Client;

  constructor(client: Client, id: string) {
    this.id = id;
    this.selector = `${caseLabel}=${id}`;
    this.#client = client;
  }

  name(base: string): string {
    return `${this.id}-${base}`;
  }

  /** Returns a person that is not stored yet. */
  draft(
    base: string,
    spec: Partial<Person['spec']> = {},
  ): { metadata: { name: string; labels: Record<string, string> }; spec: Person['spec'] } {
    return { metadata: { name: this.name(base), labels: { [caseLabel]: this.id } }, spec: { name: base, ...spec } };
  }

  create(base: string, spec: Partial<Person['spec']> = {}): Promise<Person> {
    return this.#client.create(Person, this.draft(base, spec));
  }

  /** Creates persons one after the other, so that each has a higher revision than the one before. */
  async createAll(...bases: readonly string[]): Promise<readonly Person[]> {
    const made: Person[] = [];
    for (const base of bases) made.push(await this.create(base));
    return made;
  }

  /** Watches the objects of this case, and collects the events until `stop` is called. */
  watch(options: WatchOptions): WatchRecord {
    return new WatchRecord(this.#client, { ...options, labelSelector: this.selector });
  }
}

/** The events of a watch. */
export class WatchRecord {
  readonly events: WatchEvent<Person>[] = [];
  /** The error with which the watch ended; undefined while the watch has not failed. */
  failure: unknown;
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;

  constructor(client: Client, options: WatchOptions) {
    this.#ended = this.#collect(client.watch(Person, { ...options, signal: this.#stop.signal }));
  }

  /** The events in order, as `<type> <name>`; a bookmark has only its type. */
  get summary(): readonly string[] {
    return this.events.map((event) => {
      const named = event.type === 'ADDED' || event.type === 'MODIFIED' || event.type === 'DELETED';
      return named ? `${event.type} ${event.object.spec.name}` : event.type;
    });
  }

  /** Returns the object of an event; throws when there is no event with this index. */
  person(index: number): Person {
    const event = this.events[index];
    if (event === undefined) throw new Error(`there are only ${this.events.length} events`);
    return event.object as Person;
  }

  /** Stops the watch, and resolves when the watch has ended. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  async #collect(events: AsyncIterable<WatchEvent<Person>>): Promise<void> {
    try {
      for await (const event of events) this.events.push(event);
    } catch (error) {
      this.failure = error;
    }
  }
}

/** Returns the reason of the error with which a promise rejects, or `resolved` when the promise does not reject. */
export async function reasonOfRejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => 'resolved',
    (error: unknown) => (error instanceof Error && 'reason' in error ? error.reason : error),
  );
}
