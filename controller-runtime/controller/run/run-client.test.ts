import { getEventListeners } from 'node:events';
import { expect } from 'chai';
import type { ApiObject, WatchEvent } from '../../api/index.ts';
import type { WatchOptions } from '../../client/client.ts';
import { CacheView } from './cache-view.ts';
import { FakeClient } from '../fake-client.test-support.ts';
import { Badge, Person } from '../harness.test-support.ts';
import { kindIdOf } from '../definition/kind-id.ts';
import { OwnRevisions } from './own-revisions.ts';
import { RunClient } from './run-client.ts';

const noEvents: AsyncIterable<WatchEvent<never>> = {
  [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }),
};

describe('the client of a run', () => {
  it('remembers the revisions of status writes only for the kind of the controller', async () => {
    const client = new FakeClient();
    const statusWrites = new OwnRevisions();
    const view = new CacheView(new Map());
    const abort = new AbortController();
    const runClient = new RunClient({ client, abort, view, statusWrites, ownKindId: kindIdOf(Person) });
    const metadata = { name: 'x' };
    const badge = await runClient.create<Badge>(Badge, { metadata, spec: { text: '' } });
    await runClient.updateStatus<ApiObject>(badge, { greeting: 'hi' });
    expect(statusWrites.size).to.equal(0);
    const person = await runClient.create<Person>(Person, { metadata, spec: { name: '' } });
    await runClient.updateStatus(person, { greeting: 'hi' });
    expect(statusWrites.size).to.equal(1);
  });

  it('ends its watches without an error when the run ends, even watches with a signal of their own', async () => {
    const ended: boolean[] = [];
    const client = new FakeClient();
    client.watch = (_model?: unknown, options?: WatchOptions) => {
      options?.signal?.addEventListener('abort', () => ended.push(true));
      return noEvents;
    };
    const abort = new AbortController();
    const own = new AbortController();
    const parts = { client, abort, view: new CacheView(new Map()), statusWrites: new OwnRevisions() };
    const runClient = new RunClient({ ...parts, ownKindId: kindIdOf(Person) });
    const watches = [runClient.watch(Person), runClient.watch(Person, { signal: own.signal })];
    expect(watches).to.deep.equal([noEvents, noEvents]);
    await runClient.end({ lateError: () => new Error('over') });
    expect(ended).to.deep.equal([true, true]);
    expect(getEventListeners(own.signal, 'abort')).to.deep.equal([]);
    expect(() => runClient.watch(Person)).to.throw('over');
  });
});
