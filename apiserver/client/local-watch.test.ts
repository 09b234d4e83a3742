import { expect } from 'chai';
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
    // Any use of this resource would fail, so the test shows that the watch does not use it.
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
