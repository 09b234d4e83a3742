import { exportPKCS8, exportSPKI, generateKeyPair, importJWK, SignJWT } from 'jose';
import type { CryptoKey, JSONWebKeySet, JWTPayload } from 'jose';
import { createHmac } from 'node:crypto';
import { FakeClock } from '@homeostat/controller-runtime/testing';
import type { Logger } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import fc from 'fast-check';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';

const admin = 'correct-horse-battery-staple';
const accounts = '/api/v1/namespaces/default/serviceaccounts';
const issuer = 'https://homeostat.internal';
const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('tokens that no issuer signed', () => {
  const clock = new FakeClock();
  const logged: string[] = [];
  const log = (fields: object, message: string): void =>
    void logged.push(`${message} ${JSON.stringify(fields)} ${String(Reflect.get(fields, 'err'))}`);
  const logger: Logger = { debug: log, info: log, warn: log, error: log };
  let server: TestServer;
  let good: string;
  let claims: JWTPayload;
  let header: { readonly alg: string; readonly kid: string };
  let spki: string;
  let key: CryptoKey;

  before(async () => {
    server = await TestServer.start({ token: admin, clock, logger });
    const headers = { authorization: `Bearer ${admin}` };
    await server.post(accounts, { metadata: { name: 'robot' } }, { headers });
    good = (await server.post(`${accounts}/robot/token`, { spec: {} }, { headers })).body.status.token;
    const [first = '', second = ''] = good.split('.');
    header = JSON.parse(Buffer.from(first, 'base64url').toString()) as typeof header;
    claims = JSON.parse(Buffer.from(second, 'base64url').toString()) as JWTPayload;
    const { keys } = JSON.parse((await server.get('/openid/v1/jwks', headers)).text) as JSONWebKeySet;
    spki = await exportSPKI((await importJWK(keys[0]!, 'ES256', { extractable: true })) as CryptoKey);
    key = (await generateKeyPair('ES256', { extractable: true })).privateKey;
    expect(await exportPKCS8(key)).to.include('PRIVATE KEY');
  });

  after(() => server.stop());

  async function expectUnauthorized(token: string): Promise<void> {
    const answer = await server.get('/api/v1/namespaces', { authorization: `Bearer ${token}` });
    expectRefusal(answer, { reason: 'Unauthorized', message: /^Unauthorized$/ });
    expect(Object.keys(answer.body)).to.not.include('details');
    if (token.length > 16) expect(logged.join('\n')).to.not.include(token);
  }

  const hmac = (secret: string, change: object = {}): string => {
    const signed = `${encode({ ...header, alg: 'HS256', ...change })}.${encode(claims)}`;
    return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
  };
  const foreign = (change: JWTPayload = {}, head: object = {}): Promise<string> =>
    new SignJWT({ ...claims, ...change }).setProtectedHeader({ ...header, ...head }).sign(key);
  const part = (index: number): string => good.split('.')[index] ?? '';

  const hostile: Readonly<Record<string, () => string | Promise<string>>> = {
    'of algorithm none': () => `${encode({ ...header, alg: 'none' })}.${part(1)}.`,
    'of algorithm none with a signature': () => `${encode({ ...header, alg: 'none' })}.${part(1)}.${part(2)}`,
    'of algorithm None': () => `${encode({ ...header, alg: 'None' })}.${part(1)}.${part(2)}`,
    'signed by HS256 with the public key in PEM': () => hmac(spki),
    'signed by HS256 with the key id': () => hmac(header.kid),
    'signed by HS256 with an empty key': () => hmac(''),
    'of another key': () => foreign(),
    'of another key, which is in its header': () => foreign({}, { jwk: { kty: 'EC' } }),
    'of another key, whose URL is in its header': () =>
      foreign({}, { jku: 'http://127.0.0.1:1/jwks', x5u: 'http://x' }),
    'with a path out of a folder as key id': () => foreign({}, { kid: '../../../../dev/null' }),
    'with a key id that is not a string': () => `${encode({ ...header, kid: 7 })}.${part(1)}.${part(2)}`,
    'with a key id that is a property of every JavaScript object': () => foreign({}, { kid: '__proto__' }),
    'without key id': () => `${encode({ alg: header.alg })}.${part(1)}.${part(2)}`,
    'of another issuer': () => foreign({ iss: 'https://elsewhere.example.com' }),
    'of no issuer': () => foreign({ iss: '' }),
    'with an issuer that is not a string': () => `${part(0)}.${encode({ ...claims, iss: [issuer] })}.${part(2)}`,
    'with changed claims and the old signature': () =>
      `${part(0)}.${encode({ ...claims, sub: 'system:serviceaccount:default:other' })}.${part(2)}`,
    'with a critical extension': () => `${encode({ ...header, crit: ['b64'], b64: false })}.${part(1)}.${part(2)}`,
    'without signature': () => `${part(0)}.${part(1)}.`,
    'cut short': () => good.slice(0, -1),
    'with a changed signature': () => `${part(0)}.${part(1)}.${part(2).replace(/^./, (c) => (c === 'A' ? 'B' : 'A'))}`,
    'with a fourth part': () => `${good}.${part(2)}`,
    'in quotes': () => `"${good}"`,
    'of 15,000 characters': () => `${part(0)}.${'A'.repeat(15_000 - part(0).length)}.${part(2)}`.slice(0, 15_000),
    'of deep claims': () => `${part(0)}.${Buffer.from('{"a":'.repeat(1500)).toString('base64url')}.${part(2)}`,
    'with bytes that are not UTF-8': () =>
      `${part(0)}.${Buffer.from([0x7b, 0xff, 0xfe]).toString('base64url')}.${part(2)}`,
    'whose claims are null': () => `${part(0)}.${encode(null)}.${part(2)}`,
    'whose header is a list': () => `${encode([])}.${part(1)}.${part(2)}`,
  };
  for (const [what, make] of Object.entries(hostile))
    it(`are refused: ${what}`, async () => {
      await expectUnauthorized(await make());
    });

  it('are refused when they are random text, or a valid token with one changed character [slow]', async () => {
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=';
    const changed = fc
      .tuple(fc.nat(good.length - 3), fc.constantFrom(...letters.split('')))
      .map(([at, letter]) => good.slice(0, at) + letter + good.slice(at + 1))
      // Skips tokens in which a letter was replaced by the same letter. The last two letters are never replaced: the
      // last letter of a signature has unused bits, so a token with another last letter may be valid.
      .filter((token) => token.slice(0, -2) !== good.slice(0, -2));
    const noise = fc
      .array(fc.string({ unit: fc.constantFrom(...letters.split('')), minLength: 1, maxLength: 200 }), {
        minLength: 1,
        maxLength: 5,
      })
      .map((parts) => `eyJ${parts.join('.')}`);
    await fc.assert(fc.asyncProperty(fc.oneof(changed, noise), expectUnauthorized), { numRuns: 150 });
  });

  it('are refused with 431 when they exceed the limit for headers', async () => {
    const answer = await server.raw(
      `GET /api HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${'A'.repeat(17_000)}\r\n\r\n`,
    );
    expect(answer).to.match(/^HTTP\/1\.1 431 /);
  });

  it('do not make the server refuse the valid token from which they were made', async () => {
    const { status } = await server.get('/api/v1/namespaces', { authorization: `Bearer ${good}` });
    expect(status).not.to.equal(401);
  });

  it('get the same refusal as a correctly signed token that has expired', async () => {
    await clock.advance(7_200_000);
    await expectUnauthorized(good);
  });
});
