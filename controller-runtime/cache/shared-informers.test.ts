import { expect } from 'chai';
import { silentLogger } from '../api/index.ts';
import type { Client } from '../client/client.ts';
import { Badge, Person } from '../client/example-person.fixture.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { eventually } from '../testing/eventually.ts';
import { ScriptedSource } from './scripted-source.fixture.ts';
import { shareInformers } from './shared-informers.ts';

describe('the informers of a client', () => {
  let source: ScriptedSource;
  let metadataSource: ScriptedSource;
  let informer: Client['informer'];

  beforeEach(() => {
    source = new ScriptedSource();
    metadataSource = new ScriptedSource();
    for (const each of [source, metadataSource]) each.lastList = { revision: '9', items: [] };
    const parts = { clock: new FakeClock(), logger: silentLogger, random: () => 1 };
    informer = shareInformers({ client: source, metadataClient: metadataSource, ...parts });
  });

  it('are one for each kind and each set of options', () => {
    const same = (object: Person): Person => object;
    const other = (object: Person): Person => object;
    expect(informer(Person)).to.equal(informer(Person, {}));
    expect(informer(Person, { transform: same })).to.equal(informer(Person, { transform: same }));
    expect(informer(Badge, { namespaces: ['x', 'y'] })).to.equal(informer(Badge, { namespaces: ['y', 'x'] }));
    const different = [
      informer(Person),
      informer(Badge),
      informer(Badge, { namespaces: ['x'] }),
      informer(Person, { labelSelector: 'a=b' }),
      informer(Person, { fieldSelector: 'a=b' }),
      informer(Person, { metadataOnly: true }),
      informer(Person, { transform: same }),
      informer(Person, { transform: other }),
    ];
    expect(new Set<unknown>(different).size).to.equal(different.length);
  });

  it('are kept until the last who ran them has stopped', async () => {
    const first = informer(Person);
    const [one, two] = [new AbortController(), new AbortController()];
    const runs = [first.run(one.signal), first.run(two.signal)];
    await eventually(() => first.hasSynced());
    one.abort();
    await runs[0];
    expect(informer(Person)).to.equal(first);
    two.abort();
    await runs[1];
    expect(source.active).to.equal(0);
    expect(informer(Person)).not.to.equal(first);
  });

  it('are kept again when they are run again, where no other has taken their place', async () => {
    const first = informer(Person);
    for (let run = 0; run < 2; run += 1) {
      const stop = new AbortController();
      const running = first.run(stop.signal);
      await eventually(() => first.hasSynced());
      expect(informer(Person)).to.equal(first);
      stop.abort();
      await running;
    }
  });

  it('ask for metadata alone where that is all they follow', async () => {
    const stop = new AbortController();
    const metadata = informer(Person, { metadataOnly: true });
    const running = metadata.run(stop.signal);
    await eventually(() => metadata.hasSynced());
    stop.abort();
    await running;
    expect(source.calls).to.deep.equal([]);
    expect(metadataSource.calls[0]).to.equal('list');
  });
});
