import { expect } from 'chai';
import { TestServer } from '../support/servers/test-server.ts';

const secrets = '/api/v1/namespaces/default/secrets';
const maps = '/api/v1/namespaces/default/configmaps';

interface Change {
  readonly path: string;
  readonly from?: unknown;
  readonly to?: unknown;
  readonly redacted?: boolean;
}

interface Entry {
  readonly resourceVersion: string;
  readonly verb: string;
  readonly manager?: string;
  readonly user?: string;
  readonly changes: readonly Change[];
}

describe('the history of an object', () => {
  let server: TestServer;

  before(async () => {
    server = await TestServer.start();
  });

  after(() => server.stop());

  async function create(path: string, name: string, rest: object): Promise<string> {
    const kind = path === secrets ? 'Secret' : 'ConfigMap';
    const { status, body } = await server.post(path, { apiVersion: 'v1', kind, metadata: { name }, ...rest });
    expect(status).to.equal(201);
    return body.metadata.resourceVersion as string;
  }

  async function patch(path: string, change: object): Promise<string> {
    const headers = { 'Content-Type': 'application/merge-patch+json', 'User-Agent': 'editor/1' };
    const { status, body } = await server.request('PATCH', path, { headers, body: JSON.stringify(change) });
    expect(status).to.equal(200);
    return body.metadata.resourceVersion as string;
  }

  async function historyOf(path: string): Promise<readonly Entry[]> {
    const { status, body } = await server.get(`${path}/history`);
    expect(status, JSON.stringify(body)).to.equal(200);
    return body.items as readonly Entry[];
  }

  it('has each change with its revision, writer and fields, the newest first, also after the deletion of the object', async () => {
    const created = await create(maps, 'ada', { data: { a: '1', b: '2' } });
    const changed = await patch(`${maps}/ada`, { data: { a: '3', b: null } });
    const [last, first, ...none] = await historyOf(`${maps}/ada`);
    expect(none).to.deep.equal([]);
    expect(first).to.deep.include({ resourceVersion: created, verb: 'create', user: 'developer' });
    expect(first?.changes).to.deep.equal([{ path: 'data', to: { a: '1', b: '2' } }]);
    expect(last).to.deep.include({ resourceVersion: changed, verb: 'update', manager: 'editor', user: 'developer' });
    expect(last?.changes).to.deep.equal([
      { path: 'data.a', from: '1', to: '3' },
      { path: 'data.b', from: '2' },
    ]);
    expect((await server.request('DELETE', `${maps}/ada`)).status).to.equal(200);
    expect((await historyOf(`${maps}/ada`)).map(({ verb }) => verb)).to.deep.equal(['delete', 'update', 'create']);
    expect((await server.get(`${maps}/never/history`)).status).to.equal(404);
  });

  it('is returned in pages', async () => {
    await create(maps, 'bob', { data: { n: '0' } });
    for (const n of ['1', '2', '3', '4']) await patch(`${maps}/bob`, { data: { n } });
    const seen: string[] = [];
    let token: string | undefined = '';
    let pages = 0;
    for (; token !== undefined; pages += 1) {
      const { body } = await server.get(`${maps}/bob/history?limit=2${token === '' ? '' : `&continue=${token}`}`);
      seen.push(...(body.items as readonly Entry[]).map(({ verb, changes }) => `${verb} ${String(changes[0]?.path)}`));
      token = body.metadata.continue as string | undefined;
    }
    expect(seen).to.deep.equal([...Array<string>(4).fill('update data.n'), 'create data']);
    expect(pages).to.be.within(3, 4);
  });

  it('has the state of the object at each revision, so that a client can write a former state again', async () => {
    const first = await create(maps, 'cleo', { data: { n: '1' } });
    const between = await create(maps, 'other', {});
    const second = await patch(`${maps}/cleo`, { data: { n: '2' } });
    const at = async (revision: string): ReturnType<TestServer['get']> =>
      server.get(`${maps}/cleo?resourceVersion=${revision}&resourceVersionMatch=Exact`);
    for (const revision of [first, between]) {
      const { status, body } = await at(revision);
      expect(status).to.equal(200);
      expect(body.metadata.resourceVersion).to.equal(first);
      expect(body.data).to.deep.equal({ n: '1' });
    }
    expect((await at(second)).body.data).to.deep.equal({ n: '2' });
    expect((await at(String(Number(first) - 1))).status).to.equal(404);
    expect((await at('0')).body.message).to.contain('needs a resourceVersion above 0');
    const { body: former } = await at(first);
    const restored = await server.request('PUT', `${maps}/cleo`, {
      body: JSON.stringify({ ...former, metadata: { name: 'cleo' } }),
      headers: { 'Content-Type': 'application/json' },
    });
    expect(restored.body.data).to.deep.equal({ n: '1' });
  });

  it('shows the changed fields of a Secret without their values', async () => {
    const first = await create(secrets, 'key', { stringData: { password: 'hunter2' } });
    await patch(`${secrets}/key`, { stringData: { password: 'hunter3' } });
    const items = await historyOf(`${secrets}/key`);
    expect(items[0]?.changes).to.deep.equal([{ path: 'data.password', redacted: true }]);
    expect(JSON.stringify(items)).not.to.match(/hunter|aHVudGVy/);
    const former = await server.get(`${secrets}/key?resourceVersion=${first}&resourceVersionMatch=Exact`);
    expect(former.status).to.equal(403);
    expect(former.text).not.to.match(/hunter|aHVudGVy/);
  });
});
