import { format } from 'node:util';
import { startApiServer } from '@homeostat/apiserver';
import { defineModel } from '@homeostat/controller-runtime/api';
import { controller, defineExtensionPoint, definePlugin, terminal } from 'homeostat';
import type { ControllerDefinition } from 'homeostat';
import { eventually, FakeClock, silentLogger, startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';
import { expect } from 'chai';
import { letter, machine, Person } from './support/models/models.ts';

interface Page {
  readonly status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- JSON of a response
  readonly body: any;
}

describe('/debug/controllers', () => {
  let server: TestServer | undefined;
  let letGo: (() => void) | undefined;

  afterEach(async () => {
    letGo?.();
    await server?.stop();
    server = undefined;
    letGo = undefined;
  });

  async function get(path: string, method = 'GET'): Promise<Page> {
    const response = await fetch(`${server?.url}${path}`, { method });
    return { status: response.status, body: method === 'HEAD' ? undefined : await response.json() };
  }

  /** A controller whose result depends on the name of the person. */
  const persons: ControllerDefinition = controller(Person, {
    concurrency: 4,
    async reconcile({ object, signal }) {
      const { name } = object.metadata;
      if (name === 'fails') throw new Error('no luck');
      if (name === 'gives-up') throw terminal('x'.repeat(5000));
      if (name === 'waits') return { after: '10m' };
      if (name !== 'runs') return undefined;
      await new Promise<void>((resolve) => {
        letGo = resolve;
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
      return undefined;
    },
  });

  const letters: ControllerDefinition = controller(letter, { reconcile() {} });

  it('lists every controller with the sizes of its queue', async () => {
    server = await startTestServer({
      plugins: [
        definePlugin({
          models: [letter, Person],
          controllers: [
            controller(letter, { reconcile() {} }),
            controller(Person, { reconcile: () => ({ after: '1h' }) }),
          ],
        }),
      ],
    });
    await server.client.create(Person, { metadata: { name: 'ann' }, spec: { name: 'Ann' } });
    await server.settle();
    const { status, body } = await get('/debug/controllers');
    expect(status).to.equal(200);
    const idle = { processing: 0, parked: 0, delayed: 0, ready: 0 };
    expect(body).to.deep.equal({
      items: [
        { name: 'plugin-1/letter', gvk: 'people.example.com/v1alpha1/Letter', queue: idle },
        { name: 'plugin-1/person', gvk: 'people.example.com/v1alpha1/Person', queue: { ...idle, delayed: 1 } },
      ],
    });
    expect((await get('/debug/controllers/')).body).to.deep.equal(body);
    expect((await get('/debug/controllers', 'HEAD')).status).to.equal(200);
  });

  it('names a controller that has no free worker because its runs continue after their timeout', async () => {
    // Only the first run hangs. The second run begins some milliseconds after the end of the first. If it hung too, the
    // page would show the problem again.
    const hangs = controller(Person, {
      concurrency: 1,
      timeoutMs: 10,
      reconcile: () =>
        letGo === undefined ? new Promise<undefined>((resolve) => (letGo = () => resolve(undefined))) : undefined,
    });
    server = await startTestServer({ plugins: [definePlugin({ models: [Person], controllers: [hangs] })] });
    await server.client.create(Person, { metadata: { name: 'ann' }, spec: { name: 'Ann' } });
    const problem =
      'controller "person": all workers (1) are occupied by runs that have exceeded their timeout and have not ended: ann';
    await eventually(async () => (await get('/debug/controllers')).body.items[0].problem === problem);
    letGo?.();
    await eventually(async () => !('problem' in (await get('/debug/controllers/plugin-1/person')).body));
  });

  it('shows the state, attempts, next time, last error and reasons of each key', async () => {
    const clock = new FakeClock();
    server = await startTestServer({ clock, models: [Person], controllers: [persons], logger: silentLogger });
    for (const name of ['fails', 'gives-up', 'waits', 'runs']) {
      await server.client.create(Person, { metadata: { name }, spec: { name } });
    }
    const page = await eventually(async () => {
      const seen = await get('/debug/controllers/test/person');
      const { processing, parked, delayed } = seen.body.queue;
      return processing === 1 && parked === 1 && delayed === 2 && seen;
    });
    const { resourceVersion } = (await server.client.get(Person, 'runs')).metadata;
    const added = [{ type: 'event', detail: 'ADDED', resourceVersion, manager: 'homeostat' }];
    const { name, total, queue, keys } = page.body;
    expect({ name, total, queue }).to.deep.equal({
      name: 'test/person',
      total: 4,
      queue: { processing: 1, parked: 1, delayed: 2, ready: 0 },
    });
    const [runs, parked, ...delayed] = keys;
    expect(runs).to.deep.equal({ key: 'runs', state: 'processing', priority: 0, attempts: 0, reasons: added });
    expect(parked).to.include({ key: 'gives-up', state: 'parked', lastError: 'x'.repeat(1024) });
    const [waits] = delayed.filter(({ key }: { key: string }) => key === 'waits');
    expect(waits).to.include({ state: 'delayed', attempts: 0 });
    expect(Date.parse(waits.nextTime) - clock.now()).to.equal(600_000);
    const [fails] = delayed.filter(({ key }: { key: string }) => key === 'fails');
    expect(fails).to.include({ state: 'delayed', attempts: 1, lastError: 'no luck' });
    expect(fails.reasons).to.deep.include({ type: 'retry' });
  });

  it('shows the state of one object, and the outcome of its last runs', async () => {
    const clock = new FakeClock();
    server = await startTestServer({
      clock,
      models: [Person, letter],
      controllers: [persons, letters],
      logger: silentLogger,
    });
    for (const name of ['fails', 'fine']) await server.client.create(Person, { metadata: { name }, spec: { name } });
    await server.client.create(letter, {
      metadata: { name: 'x-y', namespace: 'default' },
      spec: { text: 'x' },
    } as never);
    await server.settle();
    const startTime = new Date(clock.now()).toISOString();
    const run = { attempts: 0, startTime, durationMs: 0 };
    const { client } = server;
    const added = async (name: string): Promise<object> => {
      const { resourceVersion } = (await client.get(Person, name)).metadata;
      return { type: 'event', detail: 'ADDED', resourceVersion, manager: 'homeostat' };
    };
    for (const path of ['test/person/fails', 'person/fails']) {
      const { status, body } = await get(`/debug/controllers/${path}`);
      expect(status).to.equal(200);
      expect(body).to.include({ controller: 'test/person', key: 'fails' });
      expect(body.queue).to.include({ state: 'delayed', attempts: 1, lastError: 'no luck' });
      const [{ reconcileID, ...last }] = body.runs;
      expect(reconcileID).to.match(/^[0-9a-f-]{36}$/);
      const reasons = [await added('fails')];
      expect(last).to.deep.equal({ ...run, reasons, key: 'fails', result: 'error', error: 'no luck' });
    }
    const fine = (await get('/debug/controllers/person/fine')).body;
    expect(fine.queue).to.equal(null);
    expect(fine.runs).to.have.length(1);
    expect(fine.runs[0]).to.deep.include({ ...run, reasons: [await added('fine')], result: 'success' });
    const namespaced = (await get('/debug/controllers/test/letter/default/x-y')).body;
    expect(namespaced).to.include({ controller: 'test/letter', key: 'default/x-y' });
    const { lastRuns } = (await get('/debug/controllers/test/person')).body;
    expect(lastRuns.map(({ key }: { key: string }) => key)).to.have.members(['fails', 'fine']);
    expect((await get('/debug/controllers/test/person?limit=1')).body.lastRuns).to.have.length(1);
  });

  it('shows no content of a Secret that a controller has failed to create', async () => {
    const planted = 'open-sesame-of-a-controller';
    const schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } as const;
    const secret = defineModel({ gvk: 'v1/Secret', plural: 'secrets', scope: 'Namespaced', schema });
    const logged: string[] = [];
    const log = (fields: object, message: string): void => void logged.push(`${message} ${format(fields)}`);
    const writer = controller(Person, {
      async reconcile({ object, client }) {
        const metadata = { name: object.metadata.name, namespace: 'default' };
        await client.create(secret, { metadata, type: 'kubernetes.io/tls', stringData: { value: planted } });
      },
    });
    const logger = { debug: log, info: log, warn: log, error: log };
    server = await startTestServer({ clock: new FakeClock(), models: [Person], controllers: [writer], logger });
    await server.client.create(Person, { metadata: { name: 'refused' }, spec: { name: 'Refused' } });
    await server.settle();
    const { body } = await get('/debug/controllers/test/person/refused');
    expect(body.queue.lastError).to.include('Secret');
    const pages = ['/debug/controllers', '/debug/controllers/test/person', '/debug/controllers/test/person/refused'];
    for (const path of [...pages, '/metrics', '/api/v1/events']) {
      const text = await (await fetch(`${server.url}${path}`)).text();
      for (const secretText of [planted, Buffer.from(planted).toString('base64')])
        expect(text, path).not.to.include(secretText);
    }
    expect(logged.join('\n')).to.include('refused').and.not.include(planted);
  });

  it('shows at most 500 keys, or at most ?limit keys, and the total number of keys [slow]', async () => {
    server = await startTestServer({
      models: [machine],
      controllers: [controller(machine, { reconcile: () => ({ after: '1h' }) })],
    });
    for (let index = 0; index < 510; index += 1)
      await server.client.create(machine, { metadata: { name: `m${index}` } });
    await server.settle();
    for (const [query, shown] of [
      ['', 500],
      ['?limit=3', 3],
      ['?limit=1000000', 510],
    ] as const) {
      const { body } = await get(`/debug/controllers/machine${query}`);
      expect(body.total).to.equal(510);
      expect(body.keys, query).to.have.length(shown);
    }
    for (const limit of ['0', '-1', '1.5', 'all']) {
      const { status, body } = await get(`/debug/controllers/machine?limit=${limit}`);
      expect(status).to.equal(400);
      expect(body.message).to.include('limit: Invalid value');
    }
  });

  it('requires the name of the plugin when two plugins have a controller of the same name', async () => {
    const person = controller(Person, { name: 'same', reconcile() {} });
    const other = controller(machine, { name: 'same', reconcile() {} });
    server = await startTestServer({
      plugins: [
        definePlugin({ models: [Person], controllers: [person] }),
        definePlugin({ models: [machine], controllers: [other] }),
      ],
    });
    const { status, body } = await get('/debug/controllers/same');
    expect(status).to.equal(400);
    expect(body.message).to.include('plugin-1/same, plugin-2/same');
    expect((await get('/debug/controllers/plugin-2/same')).body.gvk).to.equal('people.example.com/v1alpha1/Machine');
  });

  it('returns 404 for a page that does not exist, and 405 for POST, PUT and DELETE', async () => {
    server = await startTestServer({ models: [Person], controllers: [persons] });
    for (const path of [
      '/debug',
      '/debug/',
      '/debug/none',
      '/debug/controllers/none',
      '/debug/controllers/test/none',
      '/debug/controllers/test/person/x',
      '/debug/controllers/..%2fx',
      '/debug/controllers//',
      `/debug/controllers/${'x'.repeat(5000)}`,
    ]) {
      const { status, body } = await get(path);
      expect(status, path).to.equal(404);
      expect(body.reason, path).to.equal('NotFound');
    }
    for (const method of ['POST', 'PUT', 'DELETE']) {
      expect((await get('/debug/controllers', method)).body.reason).to.equal('MethodNotAllowed');
    }
  });

  it('returns 401 for a request without the token', async () => {
    server = await startTestServer({ token: 'x'.repeat(20), models: [Person], controllers: [persons] });
    expect((await get('/debug/controllers')).status).to.equal(401);
    expect((await get('/debug/controllers/person')).status).to.equal(401);
  });
});

describe('/debug/extensions', () => {
  it('lists each extension point with the plugins that contribute to it', async () => {
    const point = defineExtensionPoint<object>('plugin-1/parts');
    const server = await startTestServer({
      token: 'x'.repeat(20),
      plugins: [
        definePlugin({
          start({ extensions }) {
            extensions.declare(point);
            extensions.contribute(point, { secret: 'not shown' });
          },
        }),
      ],
    });
    const get = async (headers: Readonly<Record<string, string>>): Promise<Response> =>
      fetch(`${server.url}/debug/extensions`, { headers });
    expect((await get({})).status).to.equal(401);
    expect(await (await get({ authorization: `Bearer ${'x'.repeat(20)}` })).json()).to.deep.equal({
      items: [{ name: 'plugin-1/parts', contributions: ['plugin-1'] }],
    });
    await server.stop();
  });
});

describe('pages at /debug', () => {
  it('show at most 10,000 items, even if ?limit is larger', async () => {
    const server = await startApiServer({ database: 'memory:', port: 0 });
    server.addDebugPage({ name: 'limits', index: () => ({}), item: (_name, limit) => ({ limit }) });
    const shown = async (query: string): Promise<unknown> =>
      (await fetch(`${server.url}/debug/limits/x${query}`)).json();
    expect(await shown('')).to.deep.equal({ limit: 500 });
    expect(await shown('?limit=10000')).to.deep.equal({ limit: 10_000 });
    expect(await shown('?limit=10001')).to.deep.equal({ limit: 10_000 });
    await server.stop();
  });
});
