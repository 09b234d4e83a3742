import { expect } from 'chai';
import { isNotFound } from 'homeostat';
import { eventually, FakeClock, silentLogger, startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';
import { fileURLToPath } from 'node:url';
import { FakeCloud } from './fake-cloud.ts';
import { Machine } from './machine.ts';

const folder = fileURLToPath(new URL('..', import.meta.url));

describe('example 03: external system', () => {
  let clock: FakeClock;
  let cloud: FakeCloud;
  let server: TestServer;

  beforeEach(async () => {
    clock = new FakeClock();
    cloud = await FakeCloud.start({ now: () => clock.now() });
    process.env['CLOUD_URL'] = cloud.url;
    server = await startTestServer({ plugins: [folder], clock, logger: silentLogger });
  });

  afterEach(async () => {
    delete process.env['CLOUD_URL'];
    // The cloud stops first, so that no run waits for its response.
    await cloud.stop();
    await server.stop();
  });

  /** Advances the clock second by second, so that due work is done before more time passes. */
  const pass = async (seconds: number): Promise<void> => {
    for (let passed = 0; passed < seconds; passed += 1) {
      await clock.advance(1000);
      await server.settle();
    }
  };
  const create = async (size = 'small'): Promise<string> => {
    const { metadata } = await server.httpClient.create(Machine, { metadata: { name: 'web' }, spec: { size } });
    if (cloud.trouble !== 'silent') await server.settle();
    return metadata.uid;
  };
  const statusOf = async () => (await server.httpClient.get(Machine, 'web')).status;
  const eventMessages = async (): Promise<string[]> => {
    const answer = await fetch(`${server.url}/api/v1/namespaces/default/events`);
    const { items } = (await answer.json()) as { readonly items: readonly { readonly message: string }[] };
    return items.map(({ message }) => message);
  };
  const statesInCloud = (): string[] => cloud.machines.map(({ id, size, state }) => `${id} ${size} ${state}`);
  const isGone = async (): Promise<boolean> =>
    isNotFound(await server.httpClient.get(Machine, 'web').catch((error: unknown) => error));

  it('creates a machine whose id is the uid of the Machine, polls often until the machine runs, and rarely afterwards', async () => {
    const uid = await create();
    expect(statesInCloud()).to.deep.equal([`${uid} small starting`]);
    expect(await statusOf()).to.include({ phase: 'Starting', observedGeneration: 1 });
    await pass(6);
    expect(await statusOf()).to.include({ phase: 'Running', address: '10.0.0.1' });
    const [find, put] = [`GET /machines/${uid}`, `PUT /machines/${uid}`];
    expect(cloud.requests).to.deep.equal([find, put, find, find, find]);
    await pass(59);
    expect(cloud.requests).to.have.length(5);
    await pass(1);
    expect(cloud.requests).to.have.length(6);
  });

  it('changes the machine when the spec changes', async () => {
    const uid = await create();
    await pass(6);
    await server.httpClient.patch(Machine, 'web', { type: 'merge', patch: { spec: { size: 'large' } } });
    await server.settle();
    expect(statesInCloud()).to.deep.equal([`${uid} large starting`]);
    await pass(6);
    expect(await statusOf()).to.include({ phase: 'Running', observedGeneration: 2 });
  });

  it('creates a machine again when the cloud has lost it', async () => {
    const uid = await create();
    await pass(6);
    cloud.lose();
    await pass(60);
    expect(statesInCloud()).to.deep.equal([`${uid} small starting`]);
    await pass(6);
    expect(await statusOf()).to.include({ phase: 'Running', address: '10.0.0.2' });
  });

  it('tries again after 1, 2 and 4 seconds while the cloud is out of order', async () => {
    cloud.trouble = 'out of order';
    const uid = await create();
    const requests = [1];
    for (let second = 1; second <= 7; second += 1) {
      await pass(1);
      requests.push(cloud.requests.length);
    }
    expect(requests).to.deep.equal([1, 2, 2, 3, 3, 3, 3, 4]);
    cloud.trouble = 'none';
    await pass(8);
    expect(statesInCloud()).to.deep.equal([`${uid} small starting`]);
  });

  it('gives up waiting for a response after ten seconds, and tries again', async () => {
    cloud.trouble = 'silent';
    const uid = await create();
    await eventually(() => cloud.requests.length === 1);
    await clock.advance(10_000);
    await server.settle();
    cloud.trouble = 'none';
    await pass(1);
    expect(statesInCloud()).to.deep.equal([`${uid} small starting`]);
  });

  it('creates only one machine, even when the response of the cloud is lost', async () => {
    cloud.trouble = 'hangs up on writes';
    const uid = await create();
    expect(await statusOf()).to.equal(undefined);
    await pass(8);
    expect(cloud.requests.filter((request) => request.startsWith('PUT'))).to.have.length(1);
    expect(statesInCloud()).to.deep.equal([`${uid} small running`]);
    expect(await statusOf()).to.include({ phase: 'Running', address: '10.0.0.1' });
  });

  it('reports why the cloud refuses a machine, in the status and in an event, and retries when the spec changes', async () => {
    const uid = await create('huge');
    const refusal = 'the cloud refuses: "size must be one of small, large"';
    expect(await statusOf()).to.include({ phase: 'Refused', message: refusal });
    await eventually(async () => (await eventMessages()).includes(refusal));
    const { length } = cloud.requests;
    await pass(120);
    expect(cloud.requests).to.have.length(length);
    await server.httpClient.patch(Machine, 'web', { type: 'merge', patch: { spec: { size: 'large' } } });
    await server.settle();
    expect(statesInCloud()).to.deep.equal([`${uid} large starting`]);
    expect(await statusOf()).to.include({ phase: 'Starting', message: '' });
  });

  it('keeps a deleted Machine until the cloud has deleted its machine', async () => {
    const uid = await create();
    await pass(6);
    cloud.trouble = 'out of order';
    await server.httpClient.delete(Machine, 'web');
    await pass(2);
    expect(statesInCloud()).to.deep.equal([`${uid} small running`]);
    cloud.trouble = 'none';
    await pass(2);
    expect(statesInCloud()).to.deep.equal([`${uid} small stopping`]);
    expect(await isGone()).to.equal(false);
    await pass(6);
    expect(cloud.machines).to.deep.equal([]);
    expect(await isGone()).to.equal(true);
  });
});
