import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApiServer } from '@homeostat/apiserver';
import type { ApiServer, ApiServerOptions } from '@homeostat/apiserver';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';

const token = 'correct-horse-battery-staple';
const users = '/apis/iam.homeostat.internal/v1alpha1/users';
const password = 'a long enough secret';
const hourMs = 3_600_000;

describe('People who log in', () => {
  let server: ApiServer;

  afterEach(async () => server.stop());

  async function start(options: ApiServerOptions = {}): Promise<void> {
    server = await startApiServer({ database: 'memory:', port: 0, token, ...options });
  }

  /** Sends a request of the administrator. */
  async function admin(method: string, path: string, body?: object): Promise<Response> {
    return fetch(`${server.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  async function createUser(name: string, spec: object = { groups: ['system:masters'] }): Promise<void> {
    const kind = { apiVersion: 'iam.homeostat.internal/v1alpha1', kind: 'User' };
    const created = await admin('POST', users, { ...kind, metadata: { name }, spec });
    expect(created.status, await created.text()).to.equal(201);
  }

  /**
   * Creates a user with a password. Tests that need no password call `createUser`, because hashing a password takes
   * more CPU time than several starts of a server.
   */
  async function addUser(name: string, spec?: object): Promise<void> {
    await createUser(name, spec);
    expect((await admin('PUT', `${users}/${name}/password`, { password })).status).to.equal(204);
  }

  async function setDisabled(name: string, disabled: boolean): Promise<Response> {
    return fetch(`${server.url}${users}/${name}`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify({ spec: { disabled } }),
    });
  }

  async function logIn(user: string, sent = password, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(`${server.url}/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ user, password: sent }),
    });
  }

  /** Logs in, and returns the cookie in the form in which a browser sends it. */
  async function cookieOf(user: string): Promise<string> {
    const response = await logIn(user);
    expect(response.status).to.equal(204);
    return (response.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  }

  const statusOf = async (cookie: string): Promise<number> =>
    (await fetch(`${server.url}/apis`, { headers: { cookie } })).status;

  it('are identified by the cookie of their session', async () => {
    await start();
    await addUser('ada', { displayName: 'Ada', groups: ['devs', 'system:masters'] });
    const response = await logIn('ada');
    const header = response.headers.get('set-cookie') ?? '';
    expect(header).to.match(/^homeostat-session=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/);
    const review = await fetch(`${server.url}/apis/authentication.k8s.io/v1/selfsubjectreviews`, {
      method: 'POST',
      headers: { cookie: header.split(';')[0] ?? '', origin: server.url, 'content-type': 'application/json' },
      body: '{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}',
    });
    const { status } = (await review.json()) as { status: { userInfo: { groups: string[] } } };
    expect(status.userInfo).to.include({ username: 'ada' });
    expect(status.userInfo.groups).to.have.members(['devs', 'system:masters', 'system:authenticated']);
  });

  it('may send writes only from pages of the server', async () => {
    await start();
    await addUser('ada');
    const cookie = await cookieOf('ada');
    const write = async (headers: Record<string, string>): Promise<number> =>
      (await fetch(`${server.url}${users}/ada?dryRun=All`, { method: 'DELETE', headers: { cookie, ...headers } }))
        .status;
    expect(await write({})).to.equal(401);
    expect(await write({ origin: 'http://evil.example.com' })).to.equal(403);
    expect(await write({ origin: server.url })).to.equal(200);
  });

  for (const [what, end] of [
    ['they log out', async (cookie: string) => fetch(`${server.url}/logout`, { method: 'POST', headers: { cookie } })],
    ['their password changes', async () => admin('PUT', `${users}/ada/password`, { password: 'another long secret' })],
    ['they are deleted', async () => admin('DELETE', `${users}/ada`)],
    ['they are disabled', async () => setDisabled('ada', true)],
  ] as const) {
    it(`are logged out once ${what} [slow]`, async () => {
      await start();
      await addUser('ada');
      const cookie = await cookieOf('ada');
      expect(await statusOf(cookie)).to.equal(200);
      expect((await end(cookie)).ok).to.equal(true);
      expect(await statusOf(cookie)).to.equal(401);
    });
  }

  it('stay logged out when they are disabled and enabled again', async () => {
    await start();
    await addUser('ada');
    const cookie = await cookieOf('ada');
    for (const disabled of [true, false]) expect((await setDisabled('ada', disabled)).status).to.equal(200);
    await eventually(async () => expect(await statusOf(cookie)).to.equal(401));
    expect(await statusOf(await cookieOf('ada'))).to.equal(200);
  });

  it('are logged out after 8 hours without a request, and after 7 days in any case [slow]', async () => {
    const clock = new FakeClock();
    await start({ clock });
    await addUser('ada');
    const idle = await cookieOf('ada');
    const busy = await cookieOf('ada');
    await clock.advance(7 * hourMs);
    expect(await statusOf(busy)).to.equal(200);
    await clock.advance(2 * hourMs);
    expect(await statusOf(idle)).to.equal(401);
    expect(await statusOf(busy)).to.equal(200);
    for (let hours = 9; hours < 7 * 24; hours += 6) {
      expect(await statusOf(busy), `${hours} h`).to.equal(200);
      await clock.advance(6 * hourMs);
    }
    expect(await statusOf(busy)).to.equal(401);
  });

  it('have no password after they are deleted and created again', async () => {
    await start();
    await addUser('ada');
    await admin('DELETE', `${users}/ada`);
    const kind = { apiVersion: 'iam.homeostat.internal/v1alpha1', kind: 'User' };
    await admin('POST', users, { ...kind, metadata: { name: 'ada' }, spec: {} });
    expect((await logIn('ada')).status).to.equal(401);
  });

  it('get the same response for a wrong password, an unknown user, an invalid user name and a disabled user [slow]', async () => {
    await start();
    await addUser('ada');
    await addUser('off', { disabled: true });
    const answers = await Promise.all(
      [await logIn('ada', 'wrong'), await logIn('nobody'), await logIn('off'), await logIn('../../x')].map(
        async (response) => [response.status, response.headers.get('set-cookie'), await response.text()],
      ),
    );
    expect(answers[0]?.slice(0, 2)).to.deep.equal([401, null]);
    for (const answer of answers) expect(answer).to.deep.equal(answers[0]);
  });

  it('must wait after five failed logins of an account, and longer after each further failed login [slow]', async () => {
    const clock = new FakeClock();
    await start({ clock });
    await addUser('ada');
    for (let tries = 0; tries < 5; tries += 1) expect((await logIn('ada', 'wrong')).status).to.equal(401);
    const slowed = await logIn('ada');
    expect([slowed.status, slowed.headers.get('retry-after')]).to.deep.equal([429, '1']);
    await clock.advance(1000);
    expect((await logIn('ada', 'wrong')).status).to.equal(401);
    expect((await logIn('ada')).headers.get('retry-after')).to.equal('2');
    await clock.advance(2000);
    expect((await logIn('ada')).status).to.equal(204);
    expect((await logIn('ada', 'wrong')).status).to.equal(401);
  });

  it('can still log in from the address of an earlier login after too many failed logins from other addresses [slow]', async () => {
    await start({ clock: new FakeClock(), trustedProxies: ['127.0.0.1'] });
    await addUser('ada');
    const from = (address: string): Record<string, string> => ({ 'x-forwarded-for': address });
    expect((await logIn('ada', password, from('192.0.2.1'))).status).to.equal(204);
    for (let tries = 0; tries < 5; tries += 1)
      expect((await logIn('ada', 'wrong', from('203.0.113.9'))).status).to.equal(401);
    expect((await logIn('ada', 'wrong', from('203.0.113.9'))).status).to.equal(429);
    expect((await logIn('ada', 'wrong', from('203.0.113.10'))).status).to.equal(429);
    expect((await logIn('ada', password, from('192.0.2.1'))).status).to.equal(204);
    expect((await logIn('ada', 'wrong', from('203.0.113.10'))).status).to.equal(429);
    for (let tries = 0; tries < 5; tries += 1)
      expect((await logIn('ada', 'wrong', from('192.0.2.1'))).status).to.equal(401);
    expect((await logIn('ada', 'wrong', from('192.0.2.1'))).status).to.equal(429);
  });

  it('can still log in from the address of their session after a restart and too many failed logins from other addresses [slow]', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'homeostat-login-'));
    const options = {
      database: `sqlite:${join(folder, 'h.db')}`,
      trustedProxies: ['127.0.0.1'],
      clock: new FakeClock(),
    };
    await start(options);
    await addUser('ada');
    const from = (address: string): Record<string, string> => ({ 'x-forwarded-for': address });
    expect((await logIn('ada', password, from('192.0.2.1'))).status).to.equal(204);
    await server.stop();
    await start(options);
    for (let tries = 0; tries < 5; tries += 1)
      expect((await logIn('ada', 'wrong', from('203.0.113.9'))).status).to.equal(401);
    expect((await logIn('ada', 'wrong', from('203.0.113.10'))).status).to.equal(429);
    expect((await logIn('ada', password, from('192.0.2.1'))).status).to.equal(204);
    await server.stop();
    await rm(folder, { recursive: true });
    await start();
  });

  it('must wait after six failed logins, even after a restart of the server, whether the user exists or not [slow]', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'homeostat-login-'));
    const clock = new FakeClock();
    const options = { database: `sqlite:${join(folder, 'h.db')}`, clock };
    await start(options);
    await addUser('ada');
    for (const failures of [5, 1]) {
      for (const user of Array.from({ length: failures }, () => ['ada', 'nobody']).flat())
        expect((await logIn(user, 'wrong')).status).to.equal(401);
      // The server stores failed logins once a second, so the test waits for a second after each group of failures.
      await clock.advance(1000);
      await eventually(() => server.isIdle());
    }
    await server.stop();
    await start(options);
    for (const user of ['ada', 'nobody']) {
      const refused = await logIn(user);
      expect([refused.status, refused.headers.get('retry-after')]).to.deep.equal([429, '1']);
    }
    await clock.advance(1000);
    expect((await logIn('ada')).status).to.equal(204);
    await server.stop();
    await rm(folder, { recursive: true });
    await start();
  });

  it('must wait after twenty failed logins from one address, whatever user names were tried [slow]', async () => {
    const clock = new FakeClock();
    await start({ clock });
    for (let tries = 0; tries < 20; tries += 1) expect((await logIn(`user${tries}`)).status).to.equal(401);
    expect((await logIn('another')).status).to.equal(429);
    await clock.advance(15 * 60_000);
    expect((await logIn('another')).status).to.equal(401);
  });

  it('cannot read a password from objects, lists, exports or the subresource password', async () => {
    await start();
    await addUser('ada');
    await cookieOf('ada');
    for (const path of [`${users}/ada`, users, '/export']) {
      const text = await (await admin('GET', path)).text();
      expect(text).to.include('ada').and.not.include('scrypt').and.not.include(password);
    }
    const read = await admin('GET', `${users}/ada/password`);
    expect([read.status, read.headers.get('allow')]).to.deep.equal([405, 'PUT']);
  });

  for (const [body, text] of [
    [{ password: 'short' }, 'must have 12 to 256 characters'],
    [{ password: 'x'.repeat(257) }, 'must have 12 to 256 characters'],
    [{ password: 12 }, 'password: must be a text'],
    [{ password, extra: 'a secret in the wrong field' }, 'the body has an unknown field'],
    [[], 'the body must be'],
  ] as const) {
    it(`get an error for an invalid password or an invalid body: ${text}`, async () => {
      await start();
      await createUser('ada');
      const refused = await admin('PUT', `${users}/ada/password`, body);
      expect(refused.status).to.be.oneOf([400, 422]);
      expect(await refused.text())
        .to.include(text)
        .and.not.include('a secret in');
    });
  }

  it('cannot be members of groups that begin with system:, except system:masters', async () => {
    await start();
    const kind = { apiVersion: 'iam.homeostat.internal/v1alpha1', kind: 'User' };
    const spec = { groups: ['system:nodes'] };
    const refused = await admin('POST', users, { ...kind, metadata: { name: 'ada' }, spec });
    expect(refused.status).to.equal(422);
    expect(await refused.text()).to.include('spec.groups[0]');
  });

  it('without membership in system:masters, cannot add users to this group, delete its users or set the passwords of its users, even as cluster-admin', async () => {
    await start();
    await addUser('ada', {});
    await createUser('root');
    const rbac = 'rbac.authorization.k8s.io';
    const bound = await admin('POST', `/apis/${rbac}/v1/clusterrolebindings`, {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'ada' },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ apiGroup: rbac, kind: 'User', name: 'ada' }],
    });
    expect(bound.status, await bound.text()).to.equal(201);
    const cookie = await cookieOf('ada');
    const write = async (method: string, path: string, body: object): Promise<string> => {
      const headers = { cookie, origin: server.url, 'content-type': 'application/json' };
      const response = await fetch(`${server.url}${path}`, { method, headers, body: JSON.stringify(body) });
      return `${response.status} ${await response.text()}`;
    };
    const user = (name: string, groups: readonly string[]): object => ({
      apiVersion: 'iam.homeostat.internal/v1alpha1',
      kind: 'User',
      metadata: { name },
      spec: { groups },
    });
    expect(await write('POST', users, user('bob', ['devs']))).to.match(/^201/);
    expect(await write('POST', users, user('eve', ['system:masters']))).to.match(/^403.*users in this group/);
    expect(await write('PUT', `${users}/ada`, user('ada', ['system:masters']))).to.match(/^403/);
    expect(await write('PUT', `${users}/root/password`, { password })).to.match(/^403.*may set the password/);
    expect(await write('DELETE', `${users}/root`, {})).to.match(/^403.*users in this group/);
    expect(await write('DELETE', `${users}?fieldSelector=metadata.name=root`, {})).to.match(/^403/);
    expect((await admin('GET', `${users}/root`)).status).to.equal(200);
    expect(await write('PUT', `${users}/bob/password`, { password })).to.match(/^204/);
  });

  describe('with a token', () => {
    const accounts = '/api/v1/namespaces/default/serviceaccounts';

    const logInWith = async (sent: string): Promise<Response> =>
      fetch(`${server.url}/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ token: sent }),
      });

    async function tokenOfRobot(): Promise<string> {
      const meta = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot' } };
      expect((await admin('POST', accounts, meta)).status).to.equal(201);
      const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} };
      const issued = await admin('POST', `${accounts}/robot/token`, request);
      return ((await issued.json()) as { status: { token: string } }).status.token;
    }

    it('have the identity of the token until they log out', async () => {
      await start();
      const response = await logInWith(` ${token}\n`);
      expect(response.status).to.equal(204);
      const header = response.headers.get('set-cookie') ?? '';
      expect(header).to.match(/^homeostat-session=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/);
      const cookie = header.split(';')[0] ?? '';
      const body = '{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}';
      const headers = { cookie, origin: server.url, 'content-type': 'application/json' };
      const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
      const review = await fetch(`${server.url}${path}`, { method: 'POST', headers, body });
      expect(await review.json()).to.have.nested.property('status.userInfo.username', 'admin');
      expect((await fetch(`${server.url}/logout`, { method: 'POST', headers: { cookie } })).status).to.equal(204);
      expect(await statusOf(cookie)).to.equal(401);
    });

    it('are logged out once the token is no longer valid', async () => {
      await start();
      const response = await logInWith(await tokenOfRobot());
      const cookie = (response.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
      expect(await statusOf(cookie)).to.equal(200);
      expect((await admin('DELETE', `${accounts}/robot`)).status).to.equal(200);
      expect(await statusOf(cookie)).to.equal(401);
    });

    it('get 401 for a wrong token, and 429 after many wrong tokens', async () => {
      await start({ clock: new FakeClock() });
      for (let tries = 0; tries < 20; tries += 1) expect((await logInWith(`wrong${tries}`)).status).to.equal(401);
      expect((await logInWith(token)).status).to.equal(429);
    });
  });

  describe('with a browser', () => {
    const form = async (fields: Record<string, string>): Promise<Response> =>
      fetch(`${server.url}/login`, {
        method: 'POST',
        redirect: 'manual',
        headers: { origin: server.url },
        body: new URLSearchParams(fields),
      });

    it('get a login page, and continue at the requested page', async () => {
      await start();
      await addUser('ada');
      const asked = await fetch(`${server.url}/docs?a="<b>&c=1`, { headers: { accept: 'text/html,*/*;q=0.8' } });
      expect(asked.status).to.equal(401);
      expect(asked.headers.get('content-type')).to.equal('text/html; charset=utf-8');
      expect(asked.headers.get('content-security-policy')).to.include("frame-ancestors 'none'");
      expect(asked.headers.get('content-security-policy')).to.not.include('unsafe-inline');
      expect(asked.headers.get('x-content-type-options')).to.equal('nosniff');
      const page = await asked.text();
      expect(page)
        .to.include('value="/docs?a=%22%3Cb%3E&amp;c=1"')
        .and.not.match(/<script>|<style>|style=/);
      for (const file of ['/login/login.css', '/login/login.js'])
        expect((await fetch(`${server.url}${file}`)).status, file).to.equal(200);
      const wrong = await form({ user: 'ada', password: 'wrong', next: '/docs' });
      expect(wrong.status).to.equal(401);
      expect(await wrong.text()).to.include('User or password is wrong.');
      const right = await form({ user: 'ada', password, next: '/docs?a=1#/x' });
      expect([right.status, right.headers.get('location')]).to.deep.equal([303, './docs?a=1#/x']);
      const cookie = (right.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
      expect((await fetch(`${server.url}/docs`, { headers: { cookie } })).status).to.equal(200);
    });

    it('are redirected only to pages of this server [slow]', async () => {
      await start();
      await addUser('ada');
      for (const next of [
        'https://evil.example.com/',
        '//evil.example.com',
        '/\\evil.example.com',
        '/..//evil.example.com',
        'x',
        '',
      ])
        expect((await form({ user: 'ada', password, next })).headers.get('location'), next).to.equal('./docs');
    });

    it('cannot log in from a page of another site', async () => {
      await start();
      await addUser('ada');
      expect((await logIn('ada', password, { origin: 'http://evil.example.com' })).status).to.equal(403);
    });

    it('get errors as JSON when the request is not for a page', async () => {
      await start();
      for (const headers of [{ accept: 'application/json' }, { accept: 'text/html', 'sec-fetch-dest': 'empty' }]) {
        const refused = await fetch(`${server.url}/docs`, { headers: headers as Record<string, string> });
        expect(refused.headers.get('content-type')).to.equal('application/json');
      }
    });
  });

  for (const [headers, body, status] of [
    [{ 'content-type': 'application/json' }, '{"user":"ada"', 400],
    [{ 'content-type': 'application/json' }, '{"user":["ada"],"password":"x"}', 400],
    [{ 'content-type': 'application/json' }, '{"user":"ada","password":"x","role":"master"}', 400],
    [{ 'content-type': 'application/json' }, '{"token":12}', 400],
    [{ 'content-type': 'application/json' }, '{"token":"x","user":"ada","password":"x"}', 400],
    [{ 'content-type': 'text/plain' }, 'user=ada', 415],
    [{ 'content-type': 'application/json' }, `{"user":"${'x'.repeat(9000)}"}`, 413],
  ] as const) {
    it(`get ${status} for the body ${body.slice(0, 60)}`, async () => {
      await start();
      const refused = await fetch(`${server.url}/login`, { method: 'POST', headers, body });
      expect(refused.status).to.equal(status);
    });
  }

  it('find the security scheme for tokens in both OpenAPI documents', async () => {
    await start();
    const document = (await (await admin('GET', '/openapi.json')).json()) as object;
    expect(document).to.have.nested.property('components.securitySchemes.BearerToken.scheme', 'bearer');
    const swagger = (await (await admin('GET', '/openapi/v2')).json()) as object;
    expect(swagger).to.have.nested.property('securityDefinitions.BearerToken.in', 'header');
  });
});
