import { expect } from 'chai';
import { ChangeFeed } from '../index/change-feed.ts';
import { createPerson, createPersonCache, personEntry } from '../index/person.fixture.ts';
import { oneStepPerTurn, turnsOf } from '../turns/one-step-per-turn.test-support.ts';
import type { Resource } from '../registry/kinds/resource.ts';
import { LocalWatch } from './local-watch.ts';
import type { LocalWatchParts } from './local-watch.ts';

describe('a local watch of a kind that is being indexed', () => {
  let served = (_resource: Resource): void => {};
  const parts = (): LocalWatchParts => {
    const resource = new Promise<Resource>((resolve) => (served = resolve));
    return { resource: () => resource, check: () => undefined } as Partial<LocalWatchParts> as LocalWatchParts;
  };
  const over = { done: true, value: undefined };

  it('ends when its signal aborts, and receives nothing when the kind is served later', async () => {
    const stop = new AbortController();
    const next = new LocalWatch(parts(), { signal: stop.signal }).next();
    stop.abort();
    expect(await next).to.deep.equal(over);
    // The resource is empty, so any use of it would fail. The test shows that the watch does not use it.
    served({} as Resource);
    await new Promise((resolve) => setImmediate(resolve));
  });

  it('ends when its `for await` loop is left', async () => {
    const watch = new LocalWatch(parts(), {});
    const next = watch.next();
    expect(await watch.return()).to.deep.equal(over);
    expect(await next).to.deep.equal(over);
  });
});

describe('a local watch that starts far behind', () => {
  oneStepPerTurn();

  it('takes several turns of the event loop to skip many changes that it does not select', async () => {
    const cache = createPersonCache();
    const feed = new ChangeFeed({ floor: 10, onError: () => undefined });
    const add = (name: string, revision: number): void =>
      feed.append({ type: 'ADDED', revision, entry: personEntry(cache, createPerson({ name }), revision) });
    for (let revision = 11; revision < 3_000; revision += 1) add('ada', revision);
    add('last', 3_000);
    const resource: Partial<Resource> = { feed, isClosed: false, show: (entry) => entry };
    const select = () => ({ selects: ({ name }: { readonly name: string }) => name === 'last' });
    const listened = { on: () => undefined, off: () => undefined };
    const parts = {
      resource: () => Promise.resolve(resource),
      lister: { select },
      table: listened,
      revisions: { reach: () => undefined, current: 3_000 },
      reader: { read: ({ name }: { readonly name: string }) => name },
      check: () => undefined,
      onChange: () => () => undefined,
    } as unknown as LocalWatchParts;
    const watch = new LocalWatch(parts, { resourceVersion: '10' });
    let first: unknown;
    const turns = await turnsOf(async () => (first = await watch.next()));
    expect(first).to.deep.equal({ done: false, value: { type: 'ADDED', object: 'last' } });
    expect(turns).to.be.at.least(5);
    await watch.return();
  });
});
