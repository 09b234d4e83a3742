import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { silentLogger } from '../api/index.ts';
import type { Client } from '../client/client.ts';
import { Badge, Person, person } from '../client/example-person.fixture.ts';
import type { Informer } from '../client/informer.ts';
import { FakeClock } from '../testing/fakes/fake-clock.ts';
import { eventually } from '../testing/eventually.ts';
import { ScriptedSource } from './scripted-source.fixture.ts';
import { shareInformers } from './shared-informers.ts';

describe('the informers of a client', () => {
  let source: ScriptedSource;
  let metadataSource: ScriptedSource;
  let informer: Client['informer'];
  let ending: (() => Promise<void>)[];

  beforeEach(() => {
    source = new ScriptedSource();
    metadataSource = new ScriptedSource();
    ending = [];
    for (const each of [source, metadataSource]) each.lastList = { revision: '9', items: [person('ada', '8')] };
    const parts = { clock: new FakeClock(), logger: silentLogger, random: () => 1 };
    informer = shareInformers({ client: source, metadataClient: metadataSource, ...parts });
  });

  afterEach(async () => {
    for (const end of ending) await end();
    expect(source.active).to.equal(0);
  });

  /**
   * Runs an informer, and waits until it has synced. Returns a function that ends the run. If the test does not call
   * this function, the run ends after the test.
   */
  const run = async (followed: Pick<Informer<Person>, 'run' | 'hasSynced'>): Promise<() => Promise<void>> => {
    const stop = new AbortController();
    const running = followed.run(stop.signal);
    const end = async (): Promise<void> => {
      stop.abort();
      await running;
    };
    ending.push(end);
    await eventually(() => followed.hasSynced());
    return end;
  };

  const lists = (): number => source.calls.filter((call) => call === 'list').length;

  it('running informers of the same kind and options share one list and one watch', async () => {
    const same = (object: Person): Person => object;
    const other = (object: Person): Person => object;
    const sharing = [
      [informer(Person), informer(Person, {})],
      [informer(Person, { transform: same }), informer(Person, { transform: same })],
      [informer(Badge, { namespaces: ['x'] }), informer(Badge, { namespaces: ['x'] })],
      [informer(Badge)],
      [informer(Person, { labelSelector: 'a=b' })],
      [informer(Person, { fieldSelector: 'a=b' })],
      [informer(Person, { transform: other })],
    ];
    for (const each of sharing.flat()) await run(each);
    expect(lists()).to.equal(sharing.length);
    expect(source.active).to.equal(sharing.length);
  });

  it('the watch stops when the last informer ends, and the next informer lists again', async () => {
    const [first, second] = [informer(Person), informer(Person)];
    const watch = source.nextWatch();
    const ends = [await run(first), await run(second)];
    await ends[0]?.();
    expect([first.hasSynced(), second.hasSynced()]).to.deep.equal([false, true]);
    watch.emit({ type: 'ADDED', object: person('bob', '10') });
    await eventually(() => second.list().length === 2);
    await ends[1]?.();
    expect(source.active).to.equal(0);
    await run(informer(Person));
    expect(lists()).to.equal(2);
  });

  it('an informer reports the missed changes when it runs again, even if other informers continued to run', async () => {
    const [first, second] = [informer(Person), informer(Person)];
    const told: string[] = [];
    first.addHandler({
      onAdd: ({ metadata }) => void told.push(`add ${metadata.name}`),
      onUpdate: ({ metadata }, { metadata: now }) =>
        void told.push(`update ${metadata.resourceVersion} ${now.resourceVersion}`),
      onDelete: ({ metadata }) => void told.push(`delete ${metadata.name}`),
    });
    const watch = source.nextWatch();
    const end = await run(first);
    await run(second);
    await end();
    watch.emit({ type: 'ADDED', object: person('bob', '10') });
    watch.emit({ type: 'MODIFIED', object: person('ada', '11') });
    await eventually(() => second.resourceVersion === '11');
    expect(told).to.deep.equal(['add ada']);
    await run(first);
    await eventually(() => told.length === 3);
    watch.emit({ type: 'DELETED', object: person('bob', '12') });
    await eventually(() => told.length === 4);
    expect(told).to.deep.equal(['add ada', 'update 8 11', 'add bob', 'delete bob']);
    expect(lists()).to.equal(1);
  });

  it('an informer that has never run has no objects, and can be garbage collected while the client exists [slow]', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    await run(informer(Person));
    const [idle, ...forgotten] = [informer(Person), new WeakRef(informer(Person, { labelSelector: 'never=run' }))];
    expect([idle.hasSynced(), idle.list()]).to.deep.equal([false, []]);
    // A WeakRef keeps its object alive until the current turn of the event loop ends.
    await nextTurn();
    collect();
    expect(forgotten.map((each) => each.deref())).to.deep.equal([undefined]);
  });

  it('informers that follow only metadata request only metadata', async () => {
    await run(informer(Person, { metadataOnly: true }));
    expect(source.calls).to.deep.equal([]);
    expect(metadataSource.calls[0]).to.equal('list');
  });
});
