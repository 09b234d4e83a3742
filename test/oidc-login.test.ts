import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SettingsFileError, startApiServer } from '@homeostat/apiserver';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import type { LoginBrowser, PageAnswer } from './support/logins/login-browser.ts';
import { LoginServer } from './support/logins/login-server.ts';
import { itOnShared } from './support/databases/shared-databases.ts';
import { TestServer } from './support/servers/test-server.ts';

const hourMs = 3_600_000;
const staff = '    displayName: Staff & "Co"\n    scopes: [email]\n';

describe('People who log in with a browser at an issuer', () => {
  let login: LoginServer;

  before(async () => {
    login = await LoginServer.create(2);
  });
  after(async () => login.close());
  beforeEach(async () => {
    for (const issuer of login.issuers) {
      await issuer.fail(undefined);
      await issuer.expect(person());
    }
    await login.configure({ name: 'staff', more: staff }, { name: 'guests' });
  });
  afterEach(async () => login.stop());

  function person(): object {
    const exp = Math.floor(login.clock.now() / 1000) + 300;
    return { sub: 'ann', hd: 'example.com', groups: ['devs', 'system:masters', 'system:x'], sid: '7', exp };
  }

  async function whoIs(browser: LoginBrowser): Promise<unknown> {
    const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ');
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const headers = { cookie, origin: login.server.api.url };
    const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
    const answer = await login.server.post(path, body, { headers });
    return answer.status === 201 ? answer.body.status.userInfo : answer.status;
  }

  function expectRefused(answer: PageAnswer, what: string): void {
    expect(answer.status, what).to.equal(401);
    expect(answer.headers['content-type'], what).to.include('text/html');
    expect(String(answer.headers['set-cookie']), what).not.to.include('homeostat-session');
    expect(answer.text, what).to.include('<form method="post" action="../../../login">');
  }

  it('find the issuer on the login page, and are logged in as the user in the claims', async () => {
    await login.start();
    const browser = login.browser();
    const page = await browser.get('/docs?a=1');
    expect(page.status).to.equal(401);
    expect(page.text)
      .to.include('href="./login/oidc/staff?next=%2Fdocs%3Fa%3D1">Log in with Staff &amp; &quot;Co&quot;</a>')
      .and.include('Log in with guests</a>');
    const location = new URL(await browser.begin('staff', '/docs?a=1#/x'));
    const asked = Object.fromEntries(location.searchParams);
    expect(location.href.startsWith(`${login.issuer.url}/authorize?`)).to.equal(true);
    expect(asked).to.include({ response_type: 'code', client_id: 'homeostat', scope: 'openid email' });
    expect(asked)
      .to.include({ code_challenge_method: 'S256' })
      .and.have.all.keys(
        'response_type',
        'client_id',
        'scope',
        'code_challenge',
        'code_challenge_method',
        'state',
        'nonce',
        'redirect_uri',
      );
    expect(asked['redirect_uri']).to.equal(`${login.server.api.url}/login/oidc/staff/callback`);
    const back = await browser.get((await browser.atIssuer(location.href)).href);
    expect(back.status).to.equal(200);
    expect(back.text).to.include('<meta http-equiv="refresh" content="0;url=../../../docs?a=1#/x">');
    expect(back.headers['content-security-policy']).to.include("default-src 'none'");
    expect(back.headers['set-cookie']).to.have.length(2);
    expect(back.headers['set-cookie']?.[1]).to.match(/^homeostat-session=[\w-]{43}; Path=\/; .*SameSite=Strict$/);
    expect([...browser.cookies.keys()]).to.deep.equal(['homeostat-session']);
    expect(await whoIs(browser)).to.deep.equal({
      username: 'oidc:ann',
      uid: '7',
      groups: ['devs', 'system:authenticated'],
    });
    expect((await browser.get('/docs')).status).to.equal(200);
  });

  it('are logged out after a day, even with frequent requests [slow]', async () => {
    await login.start();
    const browser = login.browser();
    await browser.logIn('staff');
    for (let hours = 0; hours < 24; hours += 6) {
      expect(await whoIs(browser), `${hours} h`).not.to.equal(401);
      await login.clock.advance(6 * hourMs);
    }
    expect(await whoIs(browser)).to.equal(401);
  });

  it('are logged out by POST /logout, and when their issuer is removed from the configuration', async () => {
    await login.start();
    const [first, second] = [login.browser(), login.browser()];
    for (const browser of [first, second]) await browser.logIn('staff');
    const cookie = `homeostat-session=${first.cookies.get('homeostat-session')}`;
    await login.server.post('/logout', undefined, { headers: { cookie, origin: login.server.api.url } });
    expect(await whoIs(first)).to.equal(401);
    await login.configure({ name: 'staff', more: staff.replace('Staff', 'All') }, { name: 'guests' });
    await login.clock.advance(60_000);
    await eventually(async () => expect((await second.get('/login')).text).to.include('Log in with All'));
    expect(await whoIs(second)).not.to.equal(401);
    await login.configure({ name: 'guests' });
    await login.clock.advance(60_000);
    await eventually(async () => expect(await whoIs(second)).to.equal(401));
    expect((await second.get('/login/oidc/staff')).status).to.equal(404);
  });

  it('are redirected only to pages of this server', async () => {
    await login.start();
    for (const next of [
      'https://evil.example.com/',
      '//evil.example.com',
      '/\\evil.example.com',
      '/..//evil',
      '/login',
      '',
    ])
      expect((await login.browser().logIn('staff', next)).text, next).to.include('content="0;url=../../../docs"');
    const quoted = await login.browser().logIn('staff', '/docs?"><script>');
    expect(quoted.text).to.include('url=../../../docs?%22%3E%3Cscript%3E"').and.not.include('<script>');
    for (const path of ['/login/oidc/nowhere', '/login/oidc/nowhere/callback', '/login/oidc/constructor'])
      expect((await login.browser().get(path)).status, path).to.equal(404);
    expect((await login.server.post('/login/oidc/staff', {})).status).to.equal(405);
  });

  it('are refused unless they return with the parameter `state` of their own login, once and in time [slow]', async () => {
    await login.start();
    const callbackOf = async (browser: LoginBrowser, provider = 'staff'): Promise<URL> =>
      browser.atIssuer(await browser.begin(provider));
    const edit = (url: URL, change: (query: URLSearchParams) => void): string => {
      change(url.searchParams);
      return url.href;
    };
    const attacks: Readonly<Record<string, (browser: LoginBrowser) => Promise<PageAnswer>>> = {
      'wrong state': async (browser) =>
        browser.get(edit(await callbackOf(browser), (query) => query.set('state', 'invented'))),
      'no state': async (browser) => browser.get(edit(await callbackOf(browser), (query) => query.delete('state'))),
      'two states': async (browser) =>
        browser.get(edit(await callbackOf(browser), (query) => query.append('state', 'invented'))),
      'no code': async (browser) => browser.get(edit(await callbackOf(browser), (query) => query.delete('code'))),
      'an invented code': async (browser) =>
        browser.get(edit(await callbackOf(browser), (query) => query.set('code', 'invented'))),
      'another browser': async (browser) => login.browser().get((await callbackOf(browser)).href),
      'a login that another browser began, too': async (browser) => {
        const { href } = await callbackOf(browser);
        const other = login.browser();
        await other.begin('staff');
        return other.get(href);
      },
      "another login's code": async (browser) => {
        const code = (await callbackOf(login.browser())).searchParams.get('code') ?? '';
        return browser.get(edit(await callbackOf(browser), (query) => query.set('code', code)));
      },
      "the other issuer's code": async (browser) => {
        const code = (await callbackOf(login.browser(), 'guests')).searchParams.get('code') ?? '';
        return browser.get(edit(await callbackOf(browser), (query) => query.set('code', code)));
      },
      "the other issuer's path": async (browser) =>
        browser.get((await callbackOf(browser)).href.replace('/staff/', '/guests/')),
      "the other issuer's name": async (browser) =>
        browser.get(edit(await callbackOf(browser), (query) => query.set('iss', login.issuers[1]?.url ?? ''))),
      'a forged cookie': async (browser) => {
        const { href } = await callbackOf(browser);
        const [header = '', ...rest] = (browser.cookies.get('homeostat-login') ?? '').split('.');
        browser.cookies.set('homeostat-login', [header, ...rest.slice(0, -1), 'AAAAAAAAAAAAAAAAAAAAAA'].join('.'));
        return browser.get(href);
      },
      'eleven minutes later': async (browser) => {
        const { href } = await callbackOf(browser);
        await login.clock.advance(11 * 60_000);
        return browser.get(href);
      },
      'a login that was used': async (browser) => {
        const { href } = await callbackOf(browser);
        const copy = browser.copy();
        expect((await browser.get(href)).status).to.equal(200);
        return copy.get(href);
      },
      'a refusal of the issuer': async (browser) =>
        browser.get(
          edit(await callbackOf(browser), (query) => {
            query.delete('code');
            query.set('error', 'access_denied');
            query.set('error_description', '<script>a secret description</script>');
          }),
        ),
    };
    for (const [what, attack] of Object.entries(attacks)) {
      await login.issuer.expect(person());
      const answer = await attack(login.browser());
      expectRefused(answer, what);
      expect(answer.text, what).not.to.match(/secret|invented|<script>/);
      // The clock advances until the server has forgotten the failures of the address.
      await login.clock.advance(16 * 60_000);
    }
    expect(login.logged.join('\n')).not.to.match(/secret|invented|eyJ/);
  });

  it('are refused when the ID token is for another login, is not signed, or gives no valid user [slow]', async () => {
    await login.start();
    const claims: Readonly<Record<string, object>> = {
      'another nonce': { nonce: 'another' },
      'no nonce': { nonce: undefined },
      'another audience': { aud: 'elsewhere' },
      'several audiences, for another': { aud: ['homeostat', 'elsewhere'], azp: 'elsewhere' },
      'another issuer': { iss: 'https://elsewhere.example.com' },
      expired: { exp: 1 },
      'no expiry': { exp: undefined },
      'not yet valid': { nbf: Math.floor(login.clock.now() / 1000) + 36_000 },
      'not signed': { alg: 'none' },
      'without the required claim': { hd: undefined },
      'another domain': { hd: 'example.org' },
      'no user': { sub: '' },
      'too large': { filler: 'x'.repeat(20_000) },
    };
    for (const [what, change] of Object.entries(claims)) {
      await login.issuer.expect({ ...person(), ...change });
      expectRefused(await login.browser().logIn('staff'), what);
      await login.clock.advance(16 * 60_000);
    }
  });

  it('are refused when their user name would begin with system:', async () => {
    await login.start();
    const text = (await readFile(login.file, 'utf8')).replaceAll("prefix: 'oidc:'", "prefix: 'system:'");
    await writeFile(login.file, text);
    await login.clock.advance(60_000);
    await eventually(() => expect(login.logged.join('\n')).to.include('a file has changed'));
    await login.issuer.expect(person());
    expectRefused(await login.browser().logIn('staff'), 'system:ann');
  });

  it('must wait after twenty refused logins from one address; failures of the issuer do not count [slow]', async () => {
    await login.start();
    const browser = login.browser();
    const { href } = await browser.atIssuer(await browser.begin('staff'));
    await login.issuer.fail('an error');
    for (let tries = 0; tries < 25; tries += 1) {
      const copy = login.browser();
      const down = await copy.get((await browserReturn(copy)).href);
      expect(down.status).to.equal(503);
      expect(down.text).to.include('The provider does not respond').and.not.include('secret');
    }
    await login.issuer.fail(undefined);
    for (let tries = 0; tries < 20; tries += 1)
      expectRefused(await login.browser().get('/login/oidc/staff/callback?state=a&code=b'), 'without a login');
    const slowed = await browser.get(href);
    expect([slowed.status, slowed.headers['retry-after']]).to.deep.equal([429, '1']);
    await login.clock.advance(16 * 60_000);
    await login.issuer.expect(person());
    expect((await login.browser().logIn('staff')).status).to.equal(200);

    /** Begins a login, and returns its callback URL with an invented code, without a request to the failing issuer. */
    async function browserReturn(of: LoginBrowser): Promise<URL> {
      const location = new URL(await of.begin('staff'));
      const back = new URL(location.searchParams.get('redirect_uri') ?? '');
      back.searchParams.set('state', location.searchParams.get('state') ?? '');
      back.searchParams.set('code', 'any');
      return back;
    }
  });

  it('can log in after an issuer has changed its key; while an issuer does not respond, only its logins fail', async () => {
    await login.start();
    expect((await login.browser().logIn('staff')).status).to.equal(200);
    await login.issuer.rotate('next', 'RS256');
    expect((await login.browser().logIn('staff')).status).to.equal(200);
    const browser = login.browser();
    const { href } = await browser.atIssuer(await browser.begin('staff'));
    const asked = (await login.issuer.asked()).length;
    await login.issuer.fail('silent');
    const waiting = browser.get(href);
    await eventually(async () => expect((await login.issuer.asked()).length).to.be.above(asked));
    expect((await login.browser().logIn('guests')).status).to.equal(200);
    await login.clock.advance(5_000);
    expect((await waiting).status).to.equal(503);
    expect((await browser.get('/docs')).status).to.equal(401);
  });

  it('can log in while the client secret in the file is right, also directly after a change of the file', async () => {
    const secretFile = join(login.folder, 'secret');
    await writeFile(secretFile, 'a+secret%word\n', { mode: 0o600 });
    await login.configure({ name: 'staff', more: '    clientSecretFile: secret\n' });
    await login.start();
    await login.issuer.expect(person(), { id: 'homeostat', secret: 'a+secret%word' });
    expect((await login.browser().logIn('staff')).status).to.equal(200);
    await login.issuer.expect(person(), { id: 'homeostat', secret: 'the next secret' });
    expect((await login.browser().logIn('staff')).status).to.equal(503);
    expect(login.logged.join('\n'))
      .to.include('invalid_client')
      .and.not.match(/word|secret description/);
    await writeFile(secretFile, 'the next secret');
    expect((await login.browser().logIn('staff')).status).to.equal(200);
    await chmod(secretFile, 0o644);
    expect((await login.browser().get('/login/oidc/staff')).status).to.equal(503);
    expect(login.logged.join('\n')).to.include('users other than its owner have access');
    const error: unknown = await startApiServer({ ...login.options, database: 'memory:', port: 0 }).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).to.be.instanceOf(SettingsFileError);
    expect((error as Error).message).to.include(secretFile);
  });

  it('return to an HTTPS URL and get Secure cookies behind a proxy that terminates TLS', async () => {
    await login.start({ trustedProxies: ['127.0.0.1'], hostNames: ['homeostat.example.com'] });
    const browser = login.browser({ 'x-forwarded-proto': 'https', host: 'Homeostat.example.com' });
    const location = new URL(await browser.begin('staff'));
    expect(location.searchParams.get('redirect_uri')).to.equal(
      'https://homeostat.example.com/login/oidc/staff/callback',
    );
    expect([...browser.cookies.keys()]).to.deep.equal(['__Host-homeostat-login']);
    const back = await browser.get((await browser.atIssuer(location.href)).href, login.server.api.url);
    expect(back.status).to.equal(200);
    expect(back.headers['set-cookie']?.[1]).to.match(/^__Host-homeostat-session=.*; Secure$/);
  });

  it('have entries in the audit log with the user, but without code and state', async () => {
    const path = join(login.folder, `audit-${Math.trunc(login.clock.now())}.log`);
    await login.start({ audit: { logFile: path } });
    const callback = new URL((await returnOf(login.browser())).href);
    await login.browser().get(callback.href);
    const browser = login.browser();
    const own = await returnOf(browser);
    await browser.get(own.href);
    await login.stop();
    const text = await readFile(path, 'utf8');
    const entries = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Entry)
      .filter(({ requestURI }) => requestURI.startsWith('/login/'));
    expect(entries.map(({ user, responseStatus }) => [user.username, responseStatus.code])).to.deep.equal([
      [undefined, 401],
      ['oidc:ann', 200],
    ]);
    for (const url of [callback, own])
      for (const value of url.searchParams.values()) expect(text).not.to.include(value);

    async function returnOf(of: LoginBrowser): Promise<URL> {
      return of.atIssuer(await of.begin('staff'));
    }
  });

  itOnShared('may complete their login at another replica, but only once', async (database) => {
    await login.start({ database });
    const other = await TestServer.start({ ...login.options, database });
    try {
      const browser = login.browser();
      const callback = await browser.atIssuer(await browser.begin('staff'));
      const copies = [browser.copy(), browser.copy(), browser.copy()];
      expect((await browser.get(callback.href, other.api.url)).status).to.equal(200);
      expect((await browser.get('/docs')).status).to.equal(200);
      for (const [index, copy] of copies.entries())
        expectRefused(await copy.get(callback.href, index === 0 ? other.api.url : login.server.api.url), 'again');
      expect(login.logged.join('\n')).to.include('came back twice');
    } finally {
      await other.stop();
      await login.stop();
    }
  });

  it('need a valid browserLogin in the configuration; otherwise the server does not start', async () => {
    const mistakes: readonly (readonly [more: string, message: string])[] = [
      ['    secret: x\n', 'jwt[0].browserLogin.secret: is not known here'],
      ['    clientSecretFile: ""\n', 'jwt[0].browserLogin.clientSecretFile: must be the path of a file'],
      ['    clientSecretFile: nowhere\n', 'nowhere'],
      ['    scopes: ["a b"]\n', 'jwt[0].browserLogin.scopes[0]: must be a scope'],
      ...['', 'a\\u200bb'].map((text) => {
        const rule = 'must have 1 to 200 characters, without control characters and other invisible characters';
        return [`    displayName: "${text}"\n`, `jwt[0].browserLogin.displayName: ${rule}`] as const;
      }),
    ];
    for (const [more, message] of mistakes) {
      await login.configure({ name: 'staff', more });
      expect(await mistake(), more).to.include(message);
    }
    await login.configure({ name: 'Staff' });
    expect(await mistake()).to.include('jwt[0].browserLogin.name: must have 1 to 63 characters of a-z');
    await login.configure({ name: 'staff' }, { name: 'staff' });
    expect(await mistake()).to.include('jwt[1].browserLogin.name: is taken by another issuer');

    async function mistake(): Promise<string> {
      const error: unknown = await startApiServer({ ...login.options, database: 'memory:', port: 0 }).then(
        (started) => started.stop(),
        (thrown: unknown) => thrown,
      );
      expect(error).to.be.instanceOf(SettingsFileError);
      return (error as Error).message;
    }
  });
});

interface Entry {
  readonly requestURI: string;
  readonly user: { readonly username?: string };
  readonly responseStatus: { readonly code: number };
}
