import { expect } from 'chai';
import { controller, isConflict, reasonOf } from 'homeostat';
import type { ControllerDefinition } from 'homeostat';
import { createFaultyClient, createTestKit, FakeClock, silentLogger, startTestServer } from 'homeostat/testing';
import type { ClientRequest, FaultyClient, TestKit, TestServer } from 'homeostat/testing';
import { Badge, Person } from './support/models/staff.ts';
import { saysWhose } from './support/models/staff-controllers.ts';

const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

const isPatchOf = (kind: string) => (request: ClientRequest) => request.verb === 'patch' && request.kind === kind;

describe('a faulty client', () => {
  let clock: FakeClock;
  let server: TestServer;
  let faulty: FaultyClient;
  let kit: TestKit | undefined;

  beforeEach(async () => {
    clock = new FakeClock();
    server = await startTestServer({ clock, models: [Person, Badge] });
    faulty = createFaultyClient(server.client, { clock });
  });

  afterEach(async () => {
    await kit?.stop();
    kit = undefined;
    await server.stop();
  });

  const work = (...controllers: ControllerDefinition[]): TestKit =>
    (kit = createTestKit({ client: faulty.client, controllers, clock, logger: silentLogger }));

  const hire = (name = 'ada') => server.client.create(Person, { metadata: { name }, spec: { name } });
  const rename = (name: string) => server.client.patch(Person, 'ada', { type: 'merge', patch: { spec: { name } } });
  const textOfBadge = async () => (await server.client.get(Badge, 'ada')).spec?.text;
  const writes = () => faulty.requests.filter(({ isWrite }) => isWrite);

  it('logs each request with its verb, object and outcome, and the run that made it', async () => {
    let reconcileID: string | undefined;
    await hire();
    await work(
      controller(Person, {
        async reconcile(run) {
          ({ reconcileID } = run);
          await failure(run.client.get(Badge, 'nobody'));
          await run.ensure(Badge, 'ada', {});
        },
      }),
    ).settle();
    const ofRun = faulty.requests.filter((request) => request.reconcileID === reconcileID);
    expect(ofRun.map(({ verb, kind, name, outcome }) => [verb, kind, name, outcome])).to.deep.equal([
      ['get', 'Badge', 'nobody', 'NotFound'],
      ['get', 'Badge', 'ada', 'NotFound'],
      ['create', 'Badge', 'ada', 'ok'],
    ]);
    const forCaches = faulty.requests.filter(({ isForCache }) => isForCache).map(({ verb, kind }) => `${verb} ${kind}`);
    expect(forCaches).to.deep.equal(['list Person', 'watch Person']);
  });

  it('can refuse one request, respond to it with a conflict, or lose its response', async () => {
    await hire();
    const patch = () => faulty.client.patch(Person, 'ada', { type: 'merge', patch: { spec: { isAway: true } } });
    faulty.inject({ kind: 'refuse' }, isPatchOf('Person'));
    faulty.inject({ kind: 'refuse', error: new Error('no route') }, isPatchOf('Person'));
    faulty.inject({ kind: 'conflict' }, isPatchOf('Person'));
    expect(reasonOf(await failure(patch()))).to.equal('ServiceUnavailable');
    expect(await failure(patch())).to.have.property('message', 'no route');
    expect(isConflict(await failure(patch()))).to.equal(true);
    expect((await server.client.get(Person, 'ada')).spec.isAway).to.equal(false);
    faulty.inject({ kind: 'loseAnswer' });
    expect(reasonOf(await failure(patch()))).to.equal('ServiceUnavailable');
    expect((await server.client.get(Person, 'ada')).spec.isAway).to.equal(true);
    expect((await patch()).spec.isAway).to.equal(true);
    expect(writes().map(({ outcome, fault }) => [outcome, fault])).to.deep.equal([
      ['ServiceUnavailable', 'refuse'],
      ['Error', 'refuse'],
      ['Conflict', 'conflict'],
      ['ServiceUnavailable', 'loseAnswer'],
      ['ok', undefined],
    ]);
  });

  it('can delay a request until a promise is settled', async () => {
    let letGo = (): void => {};
    faulty.inject({ kind: 'delay', until: new Promise<void>((resolve) => (letGo = resolve)) });
    const creating = faulty.client.create(Person, { metadata: { name: 'ada' }, spec: { name: 'Ada' } });
    await hire('bob');
    const { items } = await server.client.list(Person);
    expect(items.map(({ metadata }) => metadata.name)).to.deep.equal(['bob']);
    letGo();
    expect((await creating).metadata.name).to.equal('ada');
  });

  it('refuses a write, causes a conflict and loses a response, and a controller still completes its work', async () => {
    await hire();
    for (const kind of ['refuse', 'conflict', 'loseAnswer'] as const) {
      faulty.inject({ kind }, ({ isWrite }) => isWrite);
    }
    const { settle } = work(saysWhose);
    await settle();
    await clock.advance(1000);
    await settle();
    expect(await textOfBadge()).to.equal('ada');
    expect(writes().filter(({ fault }) => fault !== undefined)).to.have.length(3);
  });

  it('can simulate a crash of the process: the run does not end, and makes no later calls', async () => {
    await hire();
    let later = 0;
    const twoWrites = controller(Person, {
      async reconcile({ client }) {
        await client.ensure(Badge, 'ada', {});
        later += 1;
        await client.ensure(Badge, 'second', {});
      },
    });
    faulty.inject({ kind: 'crash', carriedOut: true }, ({ verb }) => verb === 'create');
    work(twoWrites);
    await clock.runUntil(() => writes().length === 1);
    await clock.advance(60_000);
    expect(later).to.equal(0);
    expect((await server.client.list(Badge)).items.map(({ metadata }) => metadata.name)).to.deep.equal(['ada']);
    expect(writes().map(({ outcome }) => outcome)).to.deep.equal(['pending']);
    const stopping = kit?.stop();
    kit = undefined;
    await clock.advance(30_000);
    await stopping;
  });

  it('can close watches, which then resume at their last revision', async () => {
    await hire();
    const { settle } = work(saysWhose);
    await settle();
    expect(faulty.dropWatches({ matches: ({ kind }) => kind === 'Person' })).to.equal(1);
    await rename('Ada L.');
    await clock.advance(800);
    await settle();
    expect(await textOfBadge()).to.equal('Ada L.');
    const reads = faulty.requests.filter(({ isForCache, kind }) => isForCache && kind === 'Person');
    expect(reads.map(({ verb, outcome }) => `${verb} ${outcome}`)).to.deep.equal([
      'list ok',
      'watch ServiceUnavailable',
      'watch pending',
    ]);
  });

  it('can let watches expire, after which caches list again without a delay', async () => {
    await hire();
    const { settle } = work(saysWhose);
    await settle();
    expect(faulty.dropWatches({ expired: true })).to.equal(2);
    await rename('Ada L.');
    await settle();
    expect(await textOfBadge()).to.equal('Ada L.');
    expect(faulty.requests.filter(({ verb, isForCache }) => isForCache && verb === 'list')).to.have.length(4);
  });

  it('can hold back the events of caches until they are released', async () => {
    await hire();
    const { settle } = work(saysWhose);
    await settle();
    const letGo = faulty.holdEvents(({ kind }) => kind === 'Person');
    await rename('Ada L.');
    await clock.advance(60_000);
    expect(await textOfBadge()).to.equal('ada');
    letGo();
    await settle();
    expect(await textOfBadge()).to.equal('Ada L.');
  });
});
