import type { ApiObject, ModelDescriptor } from '../api/index.ts';
import type { Client } from '../client/client.ts';
import type { ContractCase, ContractSubject } from '../client/contract-subject.fixture.ts';
import { Person } from '../client/example-person.fixture.ts';
import type { Informer, InformerHandler, InformerOptions } from '../client/informer.ts';
import { eventually } from '../testing/eventually.ts';

/** An informer of the objects that one test creates. */
export class FollowedCase {
  readonly #subject: ContractSubject;
  #stop = new AbortController();
  readonly #others: Promise<void>[] = [];
  #running: Promise<void> = Promise.resolve();
  one!: ContractCase;
  informer!: Informer<Person>;

  constructor(subject: ContractSubject) {
    this.#subject = subject;
  }

  get client(): Client {
    return this.#subject.client;
  }

  begin(): void {
    this.one = this.#subject.newCase();
    this.informer = this.#subject.client.informer(Person, { labelSelector: this.one.selector });
    this.#stop = new AbortController();
  }

  /** Runs the informer; resolves when it has synced. */
  async run(): Promise<void> {
    this.#running = this.informer.run(this.#stop.signal);
    await eventually(() => this.informer.hasSynced());
  }

  /** Runs another informer of this test's objects, until {@link stop}. Resolves when it has synced. */
  async follow(options: InformerOptions<Person>): Promise<Informer<Person>> {
    const informer = this.client.informer(Person, { ...options, labelSelector: this.one.selector });
    return this.followUntilStop(informer);
  }

  async followUntilStop<T extends ApiObject>(informer: Informer<T>): Promise<Informer<T>> {
    this.#others.push(informer.run(this.#stop.signal));
    await eventually(() => informer.hasSynced());
    return informer;
  }

  /** Runs the informer again after {@link stop}. */
  async runAgain(): Promise<void> {
    this.#stop = new AbortController();
    await this.run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all([this.#running, ...this.#others.splice(0)]);
  }

  serve(model: ModelDescriptor): Promise<void> {
    return this.#subject.serve(model);
  }

  withdraw(model: ModelDescriptor): void {
    this.#subject.withdraw(model);
  }

  patch(base: string, patch: object): Promise<Person> {
    return this.#subject.client.patch(Person, this.one.name(base), { type: 'merge', patch });
  }

  delete(base: string): Promise<Person | undefined> {
    return this.#subject.client.delete(Person, this.one.name(base));
  }

  interrupt(): void {
    this.#subject.interrupt();
  }
}

/**
 * A handler that records its calls as `<event> <name>`. An update also has the ages before and after. An update that
 * changes nothing is recorded as `resync`.
 */
export class HandlerRecord implements InformerHandler<Person> {
  readonly calls: string[] = [];
  readonly objects: Person[] = [];

  onAdd(object: Person, { initial }: { readonly initial: boolean }): void {
    this.#note(`${initial ? 'initial' : 'add'} ${object.spec.name}`, object);
  }

  onUpdate(previous: Person, object: Person): void {
    const isResync = previous.metadata.resourceVersion === object.metadata.resourceVersion;
    const { name, age } = object.spec;
    this.#note(isResync ? `resync ${name}` : `update ${name} ${previous.spec.age}-${age}`, object);
  }

  onDelete(object: Person): void {
    this.#note(`delete ${object.spec.name}`, object);
  }

  /** Resolves with the recorded calls once there are `count` of them. */
  async after(count: number): Promise<readonly string[]> {
    await eventually(() => this.calls.length >= count, {
      describe: () => `${count} calls, got ${this.calls.join(', ')}`,
    });
    return this.calls;
  }

  #note(call: string, object: Person): void {
    this.calls.push(call);
    this.objects.push(object);
  }
}
