import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { generateKeyPair, SignJWT } from 'jose';
import type { CryptoKey, JWTPayload } from 'jose';
import type { KeyObject } from 'node:crypto';
import { MemoryVault } from '../../vault/memory-vault.fixture.ts';
import { BearerToken } from '../bearer-token.ts';
import { JwtAuthenticator } from '../jwt/jwt-authenticator.ts';
import type { UserInfo } from '../user-info.ts';
import { writeClaims } from './account-claims.ts';
import { AccountIssuer } from './account-issuer.ts';
import type { BoundObject } from './account-lookup.ts';
import { rotationMs, SigningKeys } from './signing-keys.ts';
import { maxBoundSeconds } from './token-lifetime.ts';

const issuer = 'https://homeostat.internal';
const account = { namespace: 'default', name: 'robot', uid: 'u1' };
const bound: BoundObject = { apiVersion: 'v1', kind: 'Secret', name: 's', uid: 'u2' };

describe('tokens that are signed by the key of service accounts', () => {
  let clock: FakeClock;
  let keys: SigningKeys;
  /** The current uids of the service account and of the object that tokens are bound to; undefined once deleted. */
  let uids: { account: string | undefined; object: string | undefined };
  let own: AccountIssuer;
  let authenticator: JwtAuthenticator;

  beforeEach(() => {
    clock = new FakeClock();
    keys = new SigningKeys({ vault: new MemoryVault(), clock });
    uids = { account: account.uid, object: bound.uid };
    const accounts = {
      uidOfAccount: () => uids.account,
      uidOfObject: () => uids.object,
      kindOf: () => undefined,
    };
    own = new AccountIssuer({ issuer, keys, accounts, reach: async () => undefined, clock, uuid: () => 'id' });
    authenticator = new JwtAuthenticator(clock, [own]);
  });

  const seconds = (): number => Math.floor(clock.now() / 1000);

  /** Returns the claims of a token that is valid for an hour. */
  function claims(): JWTPayload {
    const from = seconds();
    return { ...writeClaims({ account, bound }), iss: issuer, aud: [issuer], iat: from, nbf: from, exp: from + 3600 };
  }

  async function sign(payload: JWTPayload, key?: KeyObject | CryptoKey): Promise<string> {
    const { kid, privateKey } = await keys.current();
    return new SignJWT(payload).setProtectedHeader({ alg: 'ES256', kid }).sign(key ?? privateKey);
  }

  const userOf = async (token: string): Promise<UserInfo | undefined> => authenticator.ofToken(new BearerToken(token));
  const secret = { [bound.kind.toLowerCase()]: { name: bound.name, uid: bound.uid } };
  const owner = (change: object): JWTPayload => ({
    'kubernetes.io': { namespace: 'default', serviceaccount: { name: 'robot', uid: 'u1' }, ...secret, ...change },
  });

  it('authenticate the user of their service account', async () => {
    expect(await userOf(await sign(claims()))).to.deep.include({
      username: 'system:serviceaccount:default:robot',
      uid: 'u1',
    });
  });

  const wrong: Readonly<Record<string, () => JWTPayload>> = {
    'for another audience': () => ({ aud: ['elsewhere'] }),
    'for an audience that only begins like this one': () => ({ aud: `${issuer}.example.com` }),
    'for no audience': () => ({ aud: [] }),
    'without an audience': () => ({ aud: undefined as never }),
    'expired now': () => ({ exp: seconds() }),
    'expired long ago': () => ({ exp: 1 }),
    'without expiry': () => ({ exp: undefined as never }),
    'not valid yet': () => ({ nbf: seconds() + 1 }),
    'of another issuer': () => ({ iss: 'https://elsewhere.example.com' }),
    'of an issuer that only begins like this one': () => ({ iss: `${issuer}/` }),
    'of no issuer': () => ({ iss: undefined as never }),
    'of another subject': () => ({ sub: 'system:serviceaccount:default:other' }),
    'of a person': () => ({ sub: 'admin' }),
    'of no subject': () => ({ sub: undefined as never }),
    'of another namespace': () => owner({ namespace: 'other' }),
    'of an account made again': () => owner({ serviceaccount: { name: 'robot', uid: 'u0' } }),
    'of an account without uid': () => owner({ serviceaccount: { name: 'robot' } }),
    'bound to an object made again': () => owner({ secret: { name: 's', uid: 'u0' } }),
    'bound to an object without uid': () => owner({ secret: { name: 's' } }),
    'without an owner': () => ({ 'kubernetes.io': undefined }),
    'with an owner that is a text': () => ({ 'kubernetes.io': 'default/robot' }),
    'of times that are texts': () => ({ exp: '9999999999' as never }),
    huge: () => ({ filler: 'x'.repeat(20_000) }),
  };
  for (const [what, change] of Object.entries(wrong)) {
    it(`are refused: ${what}`, async () => {
      expect(await userOf(await sign({ ...claims(), ...change() }))).to.equal(undefined);
    });
  }

  it('are refused when another key with the same id has signed them', async () => {
    const { privateKey } = await generateKeyPair('ES256');
    expect(await userOf(await sign(claims(), privateKey))).to.equal(undefined);
  });

  it('become invalid immediately when they expire, or when their account or bound object is deleted or created again', async () => {
    const ends: readonly (() => unknown)[] = [
      async () => clock.advance(3600_000),
      () => (uids.account = undefined),
      () => (uids.account = 'u9'),
      () => (uids.object = undefined),
      () => (uids.object = 'u9'),
    ];
    for (const [index, end] of ends.entries()) {
      uids = { account: account.uid, object: bound.uid };
      const token = await sign({ ...claims(), jti: `${index}` });
      const user = await userOf(token);
      expect([user?.username, user?.isValid?.()], `${index}`).to.deep.equal([
        'system:serviceaccount:default:robot',
        true,
      ]);
      await end();
      expect([await userOf(token), user?.isValid?.()], `${index}`).to.deep.equal([undefined, false]);
    }
  });

  it('remain valid until they expire, also after another key has replaced the key that signed them', async () => {
    await keys.current();
    await clock.advance(rotationMs - 1000);
    const order = { account, bound, audiences: [], seconds: maxBoundSeconds };
    const last = await own.issue(order);
    await clock.advance(1000);
    const next = await own.issue(order);
    expect(keys.all()).to.have.length(2);
    const step = rotationMs - 1;
    while (clock.now() + step < last.expiresMs) {
      await clock.advance(step);
      await own.issue(order);
      expect(await userOf(last.token)).not.to.equal(undefined);
      expect(await userOf(next.token)).not.to.equal(undefined);
    }
    await clock.advance(last.expiresMs - clock.now());
    expect(await userOf(last.token)).to.equal(undefined);
    expect(await userOf(next.token)).not.to.equal(undefined);
  });
});
