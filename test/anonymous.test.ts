import { startApiServer } from '@homeostat/apiserver';
import { expect } from 'chai';
import { TestServer } from './support/servers/test-server.ts';

const token = 'correct-horse-battery-staple';
const headers = { authorization: `Bearer ${token}` };
const rbac = '/apis/rbac.authorization.k8s.io/v1';
const namespaces = '/api/v1/namespaces';

describe('a server that accepts requests without a credential', () => {
  let server: TestServer;
  let isHealthy: boolean;

  before(async () => {
    isHealthy = true;
    const secretProblem = { name: 'example', check: () => (isHealthy ? undefined : 'the disk of db.internal is full') };
    server = await TestServer.start({ token, anonymousAuth: true, readyChecks: [secretProblem] });
    const rules = [{ apiGroups: [''], resources: ['namespaces'], verbs: ['get', 'list', 'watch'] }];
    await create('clusterroles', { metadata: { name: 'open-data' }, rules });
  });

  after(() => server.stop());

  async function create(plural: string, object: object): Promise<void> {
    const { status, text } = await server.post(`${rbac}/${plural}`, object, { headers });
    expect(status, text).to.equal(201);
  }

  async function grant(): Promise<void> {
    const roleRef = { kind: 'ClusterRole', name: 'open-data' };
    const subjects = [{ kind: 'Group', name: 'system:unauthenticated' }];
    await create('clusterrolebindings', { metadata: { name: 'open-data' }, roleRef, subjects });
  }

  const withdraw = async (): Promise<unknown> =>
    server.request('DELETE', `${rbac}/clusterrolebindings/open-data`, { headers });

  it('gives such requests only the permissions of the user system:anonymous and the group system:unauthenticated', async () => {
    expect((await server.get('/version')).status).to.equal(200);
    const { status, body } = await server.get(namespaces);
    expect(status).to.equal(403);
    expect(body.message).to.include('User "system:anonymous" cannot list resource "namespaces"');
    expect((await server.get('/apis')).status).to.equal(403);
    expect((await server.post('/api/v1/namespaces', { metadata: { name: 'x' } })).status).to.equal(403);
    await grant();
    expect((await server.get(namespaces)).status).to.equal(200);
    const watch = await server.watch(`${namespaces}?watch=true`);
    expect(watch.status).to.equal(200);
    await withdraw();
    expect((await server.get(namespaces)).status).to.equal(403);
  });

  it('refuses a wrong credential, even for a request that needs no credential', async () => {
    await grant();
    const wrong: Readonly<Record<string, Record<string, string>>> = {
      token: { authorization: 'Bearer wrong-wrong-wrong-wrong' },
      scheme: { authorization: 'Basic YTpi' },
      'empty token': { authorization: 'Bearer' },
      session: { cookie: `homeostat-session=${'a'.repeat(43)}` },
    };
    for (const [what, sent] of Object.entries(wrong))
      expect((await server.get(namespaces, sent)).status, what).to.equal(401);
    expect((await server.get(namespaces, { cookie: 'theme=dark' })).status).to.equal(200);
    await withdraw();
  });

  it('responds with 401 and the login page to a browser that opens a forbidden page, and with 403 to other clients', async () => {
    const page = await server.get('/docs', { accept: 'text/html,*/*;q=0.8' });
    expect([page.status, page.headers['content-type']]).to.deep.equal([401, 'text/html; charset=utf-8']);
    expect(page.text).to.include('value="/docs"');
    expect((await server.get('/docs')).status).to.equal(403);
  });

  it('shows the reason of a failed health check only to users with a credential', async () => {
    isHealthy = false;
    const [stranger, administrator] = [await server.get('/readyz'), await server.get('/readyz', headers)];
    isHealthy = true;
    expect(stranger.text).to.include('[-]example failed: reason withheld');
    expect(administrator.text).to.include('[-]example failed: the disk of db.internal is full');
  });

  it('does not start with anonymousAuth together with auth "open"', async () => {
    const started = startApiServer({ database: 'memory:', port: 0, auth: 'open', anonymousAuth: true });
    const error: unknown = await started.catch((reason: unknown) => reason);
    expect(error).to.be.instanceOf(TypeError).with.property('message', 'anonymousAuth: needs auth "required"');
  });
});
