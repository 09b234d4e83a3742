import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SettingsFileError, startApiServer } from '@homeostat/apiserver';
import type { Logger } from '@homeostat/controller-runtime/api';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { authenticationConfiguration, indented, issuerCertificate } from './support/logins/issuer-certificate.ts';
import { TestServer } from './support/servers/test-server.ts';
import { TokenIssuer } from './support/logins/token-issuer.ts';
import type { IssuerCertificate, IssuerFault } from './support/logins/token-issuer.ts';

const admin = 'correct-horse-battery-staple';
const bearing = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

describe('a server that accepts tokens of foreign issuers', () => {
  let clock: FakeClock;
  let folder: string;
  let authenticationConfig: string;
  let certificate: IssuerCertificate;
  let issuer: TokenIssuer;
  let second: TokenIssuer;
  let server: TestServer;
  const logged: string[] = [];
  const log = (fields: object, message: string): void => void logged.push(`${message} ${JSON.stringify(fields)}`);
  const logger: Logger = { debug: log, info: log, warn: log, error: log };

  const entry = (of: TokenIssuer): string => `
- issuer:
    url: ${of.url}
    audiences: [homeostat, other]
    certificateAuthority: |
${indented(of.ca)}
  claimValidationRules:
  - claim: hd
    requiredValue: example.com
  claimMappings:
    username: { claim: sub, prefix: 'oidc:' }
    groups: { claim: groups, prefix: '' }
    uid: { claim: sid }
`;
  const configOf = authenticationConfiguration;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-oidc-'));
    certificate = await issuerCertificate(folder);
    second = await TokenIssuer.start(certificate);
  });

  beforeEach(async () => {
    clock = new FakeClock();
    logged.length = 0;
    issuer = await TokenIssuer.start(certificate);
    authenticationConfig = join(folder, 'authentication.yaml');
    await writeFile(authenticationConfig, configOf(entry(issuer), entry(second)), { mode: 0o600 });
    server = await TestServer.start({ token: admin, authenticationConfig, clock, logger });
  });

  afterEach(async () => {
    await server.stop();
    await issuer.stop();
  });

  after(async () => {
    await second.stop();
    await rm(folder, { recursive: true });
  });

  const seconds = (): number => Math.floor(clock.now() / 1000);
  const claims = (): object => ({ sub: 'ann', aud: 'homeostat', hd: 'example.com', exp: seconds() + 3600 });
  const statusOf = async (token: string): Promise<number> =>
    (await server.get('/api/v1/namespaces', bearing(token))).status;
  const isKnown = async (token: string): Promise<boolean> => (await statusOf(token)) !== 401;
  async function review(token: string): Promise<object> {
    const body = { kind: 'TokenReview', apiVersion: 'authentication.k8s.io/v1', spec: { token } };
    return (await server.post('/apis/authentication.k8s.io/v1/tokenreviews', body, { headers: bearing(admin) })).body
      .status;
  }

  it('takes user, groups and uid from the claims, with the prefixes', async () => {
    const token = await issuer.sign({ ...claims(), groups: ['staff', 'system:masters'], sid: '7', jti: 'j' });
    expect(await review(token)).to.deep.equal({
      authenticated: true,
      user: {
        username: 'oidc:ann',
        uid: '7',
        // The group system:masters is missing, because foreign issuers cannot assign groups that begin with system:.
        groups: ['staff', 'system:authenticated'],
        extra: { 'authentication.kubernetes.io/credential-id': ['JTI=j'] },
      },
    });
    expect(await isKnown(token)).to.equal(true);
    const { user } = (await review(await second.sign({ ...claims(), groups: 'staff' }))) as { readonly user: object };
    expect(user).to.deep.equal({ username: 'oidc:ann', groups: ['staff', 'system:authenticated'] });
  });

  it('refuses invalid tokens with 401', async () => {
    expect(await isKnown(await issuer.sign(claims()))).to.equal(true);
    const wrong: Readonly<Record<string, object>> = {
      'another audience': { aud: 'elsewhere' },
      'no audience': { aud: undefined },
      expired: { exp: seconds() },
      'no expiry': { exp: undefined },
      'not yet valid': { nbf: seconds() + 60 },
      'another issuer': { iss: 'https://elsewhere.example.com' },
      "the other issuer's name": { iss: second.url },
      'without the required claim': { hd: undefined },
      'with another value of the required claim': { hd: 'example.org' },
      'no user': { sub: undefined },
      'an empty user': { sub: '' },
      'a user that is not a string': { sub: { a: 1 } },
      'a user with a line break': { sub: 'ann\nadmin' },
      'a user with a character that is not visible': { sub: 'a\u200bnn' },
      'a user whose text runs backwards': { sub: 'ann\u202enimda' },
      'a list of users': { sub: ['ann'] },
      'groups that are not strings': { groups: [7] },
      'groups in groups': { groups: [['staff']] },
      'groups as an object': { groups: { staff: true } },
      'a group with a character that is not visible': { groups: ['staff', 'sta\u200bff'] },
      'a group with a null character': { groups: 'staff\u0000' },
      'too many groups': { groups: Array.from({ length: 1001 }, (_each, index) => `g${index}`) },
      'a uid that is not a string': { sid: 7 },
    };
    for (const [what, change] of Object.entries(wrong)) {
      expect(await statusOf(await issuer.sign({ ...claims(), ...change })), what).to.equal(401);
    }
    for (const header of [{ kid: '../../keys' }, { kid: '__proto__' }, { alg: 'RS512' }, { kid: undefined as never }]) {
      const token = await issuer.sign(claims(), header).catch(() => 'unsigned-token');
      expect(await statusOf(token), JSON.stringify(header)).to.equal(
        header.kid === undefined && !('alg' in header) ? 403 : 401,
      );
    }
  });

  it('fetches a new key of the issuer, at most once in ten seconds [slow]', async () => {
    expect(await isKnown(await issuer.sign(claims()))).to.equal(true);
    await clock.advance(10_000);
    await issuer.rotate('next', 'RS256');
    expect(await isKnown(await issuer.sign(claims()))).to.equal(true);
    const { length } = await issuer.asked();
    for (let sent = 0; sent < 5; sent += 1)
      expect(await statusOf(await issuer.sign({ ...claims(), jti: `${sent}` }, { kid: `invented-${sent}` }))).to.equal(
        401,
      );
    expect((await issuer.asked()).length).to.equal(length);
  });

  it('accepts known keys and refuses unknown keys while the issuer does not respond, without a delay for other users [slow]', async () => {
    const known = await issuer.sign(claims());
    expect(await isKnown(known)).to.equal(true);
    // In this state, the issuer accepts requests, and never responds.
    await issuer.fail('silent');
    await clock.advance(10_000);
    await issuer.rotate('unseen');
    const waiting = issuer.sign(claims()).then(statusOf);
    await eventually(async () => (await issuer.asked()).filter((path) => path !== '/keys').length > 1);
    expect(await statusOf(admin)).to.equal(200);
    expect(await isKnown(known)).to.equal(true);
    await issuer.keepKeys(0, 1);
    expect(await isKnown(await issuer.sign({ ...claims(), jti: 'new' }))).to.equal(true);
    expect(await isKnown(await second.sign(claims()))).to.equal(true);
    await clock.advance(5_000);
    expect(await waiting).to.equal(401);
    expect(logged.join('\n')).to.include('the keys of an issuer cannot be fetched');
    await clock.advance(5 * 60_000);
    expect(await isKnown(known)).to.equal(true);
  });

  it('refuses tokens signed with a key that the issuer no longer publishes [slow]', async () => {
    const token = await issuer.sign(claims());
    expect(await isKnown(token)).to.equal(true);
    await issuer.rotate('other');
    await issuer.keepKeys(1);
    await clock.advance(5 * 60_000);
    await eventually(async () => !(await isKnown(token)));
  });

  it('refuses documents of an issuer that are too large, malformed, redirected, or for another issuer [slow]', async () => {
    const bad: readonly IssuerFault[] = [
      'of another issuer',
      'no JSON',
      'null',
      'keys over plain HTTP',
      'a redirect',
      'an error',
      'without end',
    ];
    // For this token, the server fetches the keys of the issuer. In the next five minutes, it fetches them again only
    // for a token with an unknown key. So each token in the loop below, which has a new key, causes one fetch.
    expect(await isKnown(await issuer.sign(claims()))).to.equal(true);
    for (const what of bad) {
      await issuer.rotate(what);
      await issuer.fail(what);
      await clock.advance(10_000);
      expect(await statusOf(await issuer.sign(claims())), what).to.equal(401);
    }
    await issuer.fail(undefined);
    await issuer.publish(Array.from({ length: 10_000 }, (_each, index) => ({ kty: 'EC', kid: `${index}` })));
    await clock.advance(10_000);
    expect(await statusOf(await issuer.sign(claims())), '10,000 keys').to.equal(401);
    await issuer.publish([
      null,
      7,
      { kty: 'oct', k: 'AAAA', kid: 'a' },
      { kty: 'RSA', kid: 7 },
      { kty: 'EC', kid: 'broken' },
    ]);
    await clock.advance(10_000);
    expect(await statusOf(await issuer.sign(claims())), 'strange keys').to.equal(403);
    expect(await statusOf(await issuer.sign(claims(), { kid: 'broken' }))).to.equal(401);
  });

  it('uses a changed list of issuers in the file within a minute [slow]', async () => {
    const token = await issuer.sign(claims());
    const other = await second.sign(claims());
    expect([await isKnown(token), await isKnown(other)]).to.deep.equal([true, true]);
    await writeFile(authenticationConfig, configOf(entry(second)));
    await clock.advance(60_000);
    await eventually(async () => !(await isKnown(token)));
    expect(await isKnown(other)).to.equal(true);
  });

  it('does not start with an invalid configuration, and names the line of the mistake [slow]', async () => {
    const path = join(folder, 'bad.yaml');
    const jwt = (text: string): string => configOf(`\n${text}`);
    const good = `- issuer: { url: 'https://a.example.com', audiences: [a] }\n`;
    const mappings = `  claimMappings: { username: { claim: sub, prefix: '' } }\n`;
    const mistakes: readonly (readonly [text: string, message: string])[] = [
      ['kind: AuthenticationConfiguration\n', ':1: apiVersion: is required'],
      ['apiVersion: v1\nkind: AuthenticationConfiguration\n', ':1: apiVersion: must be apiserver.config.k8s.io/v1'],
      ['apiVersion: apiserver.config.k8s.io/v1\nkind: A\n', ':2: kind: must be AuthenticationConfiguration'],
      [jwt(good), ':4: jwt[0].claimMappings: is required'],
      [jwt(mappings.replace('  ', '- ')), ':4: jwt[0].issuer: is required'],
      [jwt(good.replace('https', 'http') + mappings), ':4: jwt[0].issuer.url: must be an HTTPS URL such as https://'],
      [jwt(good.replace('[a]', '[]') + mappings), ':4: jwt[0].issuer.audiences: must name at least one audience'],
      [jwt(`${good}${mappings}  userValidationRules: []\n`), ':6: jwt[0].userValidationRules: is not known here'],
      [jwt(good + mappings.replace(", prefix: ''", '')), ':5: jwt[0].claimMappings.username.prefix: is required'],
      [
        jwt(good + mappings.replace('claim: sub', 'expression: claims.sub')),
        ':5: jwt[0].claimMappings.username.expression',
      ],
      [jwt(good + mappings + good + mappings), ':6: jwt[1].issuer.url: is taken by another issuer'],
      [jwt(good.replace('a.example.com', 'homeostat.internal') + mappings), 'issuer.url: is taken by another issuer'],
      [
        jwt(good.replace('audiences', 'certificateAuthority: x, audiences') + mappings),
        ':4: jwt[0].issuer.certificateAuthority: must be CA certificates in PEM',
      ],
    ];
    for (const [text, message] of mistakes) {
      await writeFile(path, text, { mode: 0o600 });
      const error: unknown = await startApiServer({ database: 'memory:', port: 0, authenticationConfig: path }).then(
        (started) => started.stop(),
        (thrown: unknown) => thrown,
      );
      expect(error, text).to.be.instanceOf(SettingsFileError);
      expect((error as Error).message, text)
        .to.include(path)
        .and.include(message);
    }
  });
});
