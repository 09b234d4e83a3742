import { expect } from 'chai';
import { Person, person } from '../client/example-person.fixture.ts';
import { FakeClock } from '../testing/fakes/fake-clock.ts';
import { eventually } from '../testing/eventually.ts';
import { createBackedInformer } from './backed-informer.ts';
import type { BackingSink, InformerBacking } from './backed-informer.ts';
import type { KeyedObject } from './handler-event.ts';

const count = 1000;

/** A backing with many objects. The test can change them. */
class ManyObjects implements InformerBacking<Person> {
  readonly revision = '1';
  readonly #objects = new Map<string, Person>();
  #sink: BackingSink<Person> | undefined;

  constructor() {
    for (let index = 0; index < count; index += 1) this.#objects.set(`p${index}`, person(`p${index}`, '1'));
  }

  get(key: string): Person | undefined {
    return this.#objects.get(key);
  }

  objectSteps(): Iterable<KeyedObject<Person>> {
    return this.objects();
  }

  objects(): Iterable<KeyedObject<Person>> {
    return [...this.#objects].map(([key, object]) => ({ key, object }));
  }

  async follow(signal: AbortSignal, sink: BackingSink<Person>): Promise<void> {
    this.#sink = sink;
    sink.open();
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  }

  put(key: string, object: Person): void {
    const previous = this.#objects.get(key);
    this.#objects.set(key, object);
    if (previous === undefined) this.#sink?.added({ key, object });
    else this.#sink?.updated({ key, object: previous }, { key, object });
  }

  delete(key: string): void {
    const object = this.#objects.get(key) as Person;
    this.#objects.delete(key);
    this.#sink?.deleted({ key, object });
  }
}

const noLogger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

describe('an informer of many objects with an index', () => {
  const aborting = new AbortController();

  after(() => aborting.abort());

  it('indexes the objects in several turns of the event loop, and reports that it has synced only after that', async () => {
    const backing = new ManyObjects();
    const informer = createBackedInformer<Person>({
      model: Person,
      selection: {},
      clock: new FakeClock(),
      logger: noLogger,
      back: () => backing,
    });
    let read = 0;
    let afterOneTurn: () => void = () => undefined;
    const oneTurn = new Promise<void>((resolve) => (afterOneTurn = resolve));
    informer.addIndex('revision', ({ metadata }) => {
      read += 1;
      if (read === 1) setImmediate(afterOneTurn);
      return [metadata.resourceVersion];
    });
    const initial: string[] = [];
    informer.addHandler({ onAdd: ({ metadata }) => void initial.push(metadata.resourceVersion) });
    const running = informer.run(aborting.signal);
    await oneTurn;
    expect(read).to.be.below(count);
    expect(informer.hasSynced()).to.equal(false);
    backing.put('p999', person('p999', '2'));
    backing.put('p0', person('p0', '2'));
    backing.put('new', person('new', '2'));
    backing.delete('p998');
    await eventually(() => informer.hasSynced());
    const found = informer.byIndex('revision', '2').map(({ metadata }) => metadata.name);
    expect(found).to.have.members(['p999', 'p0', 'new']);
    expect(informer.byIndex('revision', '1')).to.have.length(count - 3);
    await eventually(() => initial.length === count);
    expect(initial.filter((revision) => revision === '2')).to.have.length(3);
    aborting.abort();
    await running;
  });

  it('fills an index in several turns of the event loop if it is added after the sync; byIndex() first fills the rest', async () => {
    const backing = new ManyObjects();
    const stop = new AbortController();
    const informer = createBackedInformer<Person>({
      model: Person,
      selection: {},
      clock: new FakeClock(),
      logger: noLogger,
      back: () => backing,
    });
    const running = informer.run(stop.signal);
    await eventually(() => informer.hasSynced());
    let read = 0;
    const byRevision = ({ metadata }: Person): readonly string[] => {
      read += 1;
      return [metadata.resourceVersion];
    };
    informer.addIndex('revision', byRevision);
    expect(read).to.be.within(1, count / 2);
    backing.put('p999', person('p999', '2'));
    backing.delete('p998');
    // The deleted object is not read, and the changed object is not read a second time.
    await eventually(() => read === count - 1);
    const namesOf = (index: string, value: string): readonly string[] =>
      informer.byIndex(index, value).map(({ metadata }) => metadata.name);
    expect(namesOf('revision', '2')).to.deep.equal(['p999']);
    expect(namesOf('revision', '1')).to.have.length(count - 2);

    informer.addIndex('name', ({ metadata }) => [metadata.name]);
    backing.put('p997', person('p997', '3'));
    expect(namesOf('name', 'p996')).to.deep.equal(['p996']);
    expect(informer.byIndex('name', 'p997')[0]?.metadata.resourceVersion).to.equal('3');
    expect(namesOf('name', 'p998')).to.deep.equal([]);

    let indexed = 0;
    informer.addIndex('late', ({ metadata }) => {
      indexed += 1;
      return [metadata.name];
    });
    expect(indexed).to.be.below(count / 2);
    await informer.whenIndexed();
    expect(indexed).to.equal(count - 1);
    informer.addIndex('unfinished', () => []);
    const ended = informer.whenIndexed();
    stop.abort();
    await running;
    await ended;
  });
});
