import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { TestServer } from './support/servers/test-server.ts';

const coreEvents = '/api/v1/namespaces/default/events';
const events = '/apis/events.k8s.io/v1/namespaces/default/events';
const minuteMs = 60_000;

describe('events [compat events]', () => {
  let clock: FakeClock;
  let server: TestServer;

  beforeEach(async () => {
    clock = new FakeClock();
    server = await TestServer.start({ clock });
  });

  afterEach(() => server.stop());

  function minutesFromNow(minutes: number): string {
    return new Date(clock.now() + minutes * minuteMs).toISOString();
  }

  function create(name: string, times: object = {}): Promise<unknown> {
    return server.create(coreEvents, {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name },
      involvedObject: { kind: 'Person', name: 'ann' },
      ...times,
    });
  }

  async function names(path = coreEvents): Promise<readonly string[]> {
    const { body } = await server.get(path);
    return (body.items as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name).toSorted();
  }

  it('are deleted an hour after their last occurrence, and watches receive the deletion', async () => {
    await create('once');
    await create('again');
    const watch = await server.watch(
      `${coreEvents}?watch=true&timeoutSeconds=9000&resourceVersion=${await server.revision(coreEvents)}`,
    );
    await clock.advance(59 * minuteMs);
    await server.patch(`${coreEvents}/again`, { lastTimestamp: minutesFromNow(0), count: 2 });
    expect(await names()).to.deep.equal(['again', 'once']);
    await clock.advance(2 * minuteMs);
    await eventually(async () => (await names()).length === 1);
    expect(await names()).to.deep.equal(['again']);
    const seen = await watch.count(2);
    expect(seen.map(({ type, object }) => `${type} ${object.metadata.name}`)).to.deep.equal([
      'MODIFIED again',
      'DELETED once',
    ]);
    await clock.advance(59 * minuteMs);
    await eventually(async () => (await names()).length === 0);
  });

  it('are deleted in events.k8s.io an hour after the last time of their series, or after deprecatedLastTimestamp', async () => {
    const event = { apiVersion: 'events.k8s.io/v1', kind: 'Event', regarding: { kind: 'Person', name: 'ann' } };
    await server.create(events, { ...event, metadata: { name: 'once' }, eventTime: minutesFromNow(0) });
    const series = { count: 2, lastObservedTime: minutesFromNow(30) };
    await server.create(events, { ...event, metadata: { name: 'series' }, eventTime: minutesFromNow(0), series });
    const deprecatedLastTimestamp = minutesFromNow(30);
    await server.create(events, { ...event, metadata: { name: 'deprecated' }, deprecatedLastTimestamp });
    await clock.advance(61 * minuteMs);
    await eventually(async () => !(await names(events)).includes('once'));
    expect(await names(events)).to.deep.equal(['deprecated', 'series']);
    await clock.advance(30 * minuteMs);
    await eventually(async () => (await names(events)).length === 0);
  });

  it('are deleted an hour after their write if their lastTimestamp is in the past or in the far future', async () => {
    await create('late', { lastTimestamp: minutesFromNow(-600) });
    await create('ahead', { lastTimestamp: minutesFromNow(600) });
    await clock.advance(59 * minuteMs);
    expect(await names()).to.deep.equal(['ahead', 'late']);
    await clock.advance(2 * minuteMs);
    await eventually(async () => (await names()).length === 0);
  });

  it('are deleted in several batches when there are many, so that other writes do not wait for them [slow]', async () => {
    // The event e0 remains, so one of the batches of 100 events deletes only 99. The server needs an eleventh batch to
    // delete 1,000 events.
    await create('e0', { lastTimestamp: minutesFromNow(60) });
    for (let from = 0; from < 1100; from += 100)
      await Promise.all(Array.from({ length: 100 }, (_each, at) => create(`e${from + at + 1}`)));
    await clock.advance(60 * minuteMs);
    await eventually(async () => (await names()).length === 101);
    await create('new');
    await clock.advance(1000);
    await eventually(async () => (await names()).length === 2);
    expect(await names()).to.deep.equal(['e0', 'new']);
  });
});

describe('the lifetime of events', () => {
  it('includes the time while the server does not run [slow]', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'homeostat-events-'));
    const database = `sqlite:${join(folder, 'objects.db')}`;
    const clock = new FakeClock();
    const first = await TestServer.start({ clock, database });
    await first.create(coreEvents, { apiVersion: 'v1', kind: 'Event', metadata: { name: 'a' }, involvedObject: {} });
    await first.stop();
    await clock.advance(60 * minuteMs);
    const second = await TestServer.start({ clock, database });
    await clock.advance(minuteMs);
    await eventually(async () => (await second.get(`${coreEvents}/a`)).status === 404);
    await second.stop();
    await rm(folder, { recursive: true });
  });

  it('is the time in the option eventTtlMs', async () => {
    const clock = new FakeClock();
    const server = await TestServer.start({ clock, eventTtlMs: 5000 });
    await server.create(coreEvents, { apiVersion: 'v1', kind: 'Event', metadata: { name: 'a' }, involvedObject: {} });
    await clock.advance(5000);
    await eventually(async () => (await server.get(`${coreEvents}/a`)).status === 404);
    await server.stop();
  });
});
