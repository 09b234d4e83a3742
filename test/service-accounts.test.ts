import { createLocalJWKSet, decodeJwt, jwtVerify } from 'jose';
import type { JSONWebKeySet } from 'jose';
import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { TestServer } from './support/servers/test-server.ts';
import type { Answer } from './support/servers/test-server.ts';

const admin = 'correct-horse-battery-staple';
const accounts = '/api/v1/namespaces/default/serviceaccounts';
const issuer = 'https://homeostat.internal';
const bearing = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });
const headers = bearing(admin);

describe('service accounts', () => {
  const clock = new FakeClock();
  let server: TestServer;

  before(async () => {
    server = await TestServer.start({ token: admin, clock });
  });

  after(() => server.stop());

  async function createAccount(name: string): Promise<string> {
    const answer = await server.post(accounts, { metadata: { name } }, { headers });
    expect(answer.status, answer.text).to.equal(201);
    return answer.body.metadata.uid as string;
  }

  const request = (name: string, spec: object = {}): Promise<Answer> =>
    server.post(`${accounts}/${name}/token`, { spec }, { headers });

  async function tokenOf(name: string, spec: object = {}): Promise<string> {
    const answer = await request(name, spec);
    expect(answer.status, answer.text).to.equal(201);
    return answer.body.status.token as string;
  }

  async function review(token: string, audiences?: readonly string[]): Promise<object> {
    const body = { kind: 'TokenReview', apiVersion: 'authentication.k8s.io/v1', spec: { token, audiences } };
    const answer = await server.post('/apis/authentication.k8s.io/v1/tokenreviews', body, { headers });
    expect(answer.status, answer.text).to.equal(201);
    return answer.body.status;
  }

  const isKnown = async (token: string): Promise<boolean> =>
    (await server.get('/api/v1/namespaces', bearing(token))).status !== 401;

  it('get tokens that identify them to the server, with the groups of Kubernetes [spec operators-tokens]', async () => {
    const uid = await createAccount('robot');
    const answer = await request('robot');
    expect(answer.headers['cache-control']).to.equal('no-store');
    expect(answer.body).to.deep.include({ kind: 'TokenRequest', apiVersion: 'authentication.k8s.io/v1' });
    expect(answer.body.spec).to.deep.equal({ audiences: [issuer], expirationSeconds: 3600 });
    const token = answer.body.status.token as string;
    const { jti, ...claims } = decodeJwt(token);
    const now = Math.floor(clock.now() / 1000);
    expect(claims).to.deep.equal({
      iss: issuer,
      sub: 'system:serviceaccount:default:robot',
      aud: [issuer],
      iat: now,
      nbf: now,
      exp: now + 3600,
      'kubernetes.io': { namespace: 'default', serviceaccount: { name: 'robot', uid } },
    });
    const user = {
      username: 'system:serviceaccount:default:robot',
      uid,
      groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
      extra: { 'authentication.kubernetes.io/credential-id': [`JTI=${String(jti)}`] },
    };
    for (const use of ['verified', 'kept']) {
      expect(await review(token), use).to.deep.equal({ authenticated: true, user });
      expect(await isKnown(token)).to.equal(true);
    }
  });

  it('cannot use a token after it has expired', async () => {
    await createAccount('brief');
    const token = await tokenOf('brief', { expirationSeconds: 600 });
    const unused = await tokenOf('brief', { expirationSeconds: 600 });
    await clock.advance(599_000);
    expect(await isKnown(token)).to.equal(true);
    await clock.advance(1_000);
    expect(await isKnown(token)).to.equal(false);
    expect(await isKnown(unused)).to.equal(false);
  });

  it('lose their tokens when they are deleted, even if a new account gets the same name', async () => {
    await createAccount('gone');
    const token = await tokenOf('gone');
    expect(await isKnown(token)).to.equal(true);
    await server.delete(`${accounts}/gone`, { headers });
    expect(await isKnown(token)).to.equal(false);
    await createAccount('gone');
    expect(await isKnown(token)).to.equal(false);
    expect(await isKnown(await tokenOf('gone'))).to.equal(true);
  });

  it('lose a token when the object to which it is bound is deleted', async () => {
    await createAccount('bound');
    const lease = { metadata: { name: 'session' }, spec: {} };
    const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
    const { body } = await server.post(leases, lease, { headers });
    const { uid } = body.metadata;
    const boundObjectRef = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', name: 'session' };
    const token = await tokenOf('bound', { boundObjectRef, expirationSeconds: 7 * 86_400 });
    expect(decodeJwt(token)['kubernetes.io']).to.deep.include({ object: { ...boundObjectRef, uid } });
    expect(await isKnown(token)).to.equal(true);
    await server.delete(`${leases}/session`, { headers });
    expect(await isKnown(token)).to.equal(false);
    await server.post(leases, lease, { headers });
    expect(await isKnown(token)).to.equal(false);
    const stale = await request('bound', { boundObjectRef: { ...boundObjectRef, uid } });
    expect([stale.status, stale.body.reason]).to.deep.equal([409, 'Conflict']);
    expect((await request('bound', { boundObjectRef: { ...boundObjectRef, name: 'none' } })).status).to.equal(404);
    const unknown = await request('bound', { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'p' } });
    expect(unknown.body.message).to.include('cannot bind token for serviceaccount to object of type v1, Kind=Pod');
  });

  it('get no token bound to an object that the caller may not read; the error does not say if the object exists', async () => {
    const rbac = '/apis/rbac.authorization.k8s.io/v1';
    const role = { rules: [{ verbs: ['create'], apiGroups: [''], resources: ['serviceaccounts/token'] }] };
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'token-maker' };
    const subjects = [{ kind: 'User', name: 'ann' }];
    await createAccount('asked');
    await server.post(`${rbac}/clusterroles`, { metadata: { name: 'token-maker' }, ...role }, { headers });
    await server.post(`${rbac}/clusterrolebindings`, { metadata: { name: 'ann' }, roleRef, subjects }, { headers });
    const asAnn = { headers: { ...headers, 'impersonate-user': 'ann' } };
    const path = '/api/v1/namespaces/default/serviceaccounts/asked/token';
    const messages = ['default', 'absent'].map(async (name) => {
      const boundObjectRef = { apiVersion: 'v1', kind: 'Namespace', name };
      const { status, body } = await server.post(path, { spec: { boundObjectRef } }, asAnn);
      expect(status).to.equal(403);
      return String(body.message).replaceAll(`"${name}"`, '"…"');
    });
    expect(new Set(await Promise.all(messages))).to.deep.equal(
      new Set([
        'namespaces "…" is forbidden: User "ann" cannot get resource "namespaces" in API group "" in the namespace "…"',
      ]),
    );
    expect((await server.post(path, { spec: {} }, asAnn)).status).to.equal(201);
  });

  it('get tokens for other services; this server does not accept these tokens', async () => {
    await createAccount('caller');
    const token = await tokenOf('caller', { audiences: ['billing', 'shop'] });
    expect(await isKnown(token)).to.equal(false);
    expect(await review(token)).to.deep.equal({ authenticated: false, user: {} });
    expect(await review(token, ['stock', 'shop'])).to.deep.include({ authenticated: true, audiences: ['shop'] });
    expect(await review(admin, ['shop'])).to.deep.equal({ authenticated: false, user: {} });
    expect(await review(admin, [issuer])).to.deep.include({ authenticated: true, audiences: [issuer] });
  });

  it('have tokens that other programs can verify with the published keys', async () => {
    await createAccount('verified');
    const token = await tokenOf('verified', { audiences: ['shop'] });
    const { body } = await server.get('/.well-known/openid-configuration', headers);
    expect(body).to.deep.include({ issuer, jwks_uri: `${issuer}/openid/v1/jwks` });
    const keys = JSON.parse((await server.get('/openid/v1/jwks', headers)).text) as JSONWebKeySet;
    for (const key of keys.keys)
      expect(Object.keys(key)).to.have.members(['kty', 'crv', 'x', 'y', 'use', 'alg', 'kid']);
    const rules = { issuer, audience: 'shop', currentDate: new Date(clock.now()) };
    const { payload } = await jwtVerify(token, createLocalJWKSet(keys), rules);
    expect(payload.sub).to.equal('system:serviceaccount:default:verified');
    expect((await server.get('/openid/v1/jwks')).status).to.equal(401);
    expect((await server.post('/openid/v1/jwks', {}, { headers })).status).to.equal(405);
  });

  it('lose their watches when the account of the token is deleted', async () => {
    const body = {
      metadata: { name: 'watchers' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'Group', name: 'system:serviceaccounts', apiGroup: 'rbac.authorization.k8s.io' }],
    };
    const bindings = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
    expect((await server.post(bindings, body, { headers })).status).to.equal(201);
    await createAccount('watcher');
    const token = await tokenOf('watcher');
    const watch = await server.watch('/api/v1/namespaces?watch=true', bearing(token));
    await watch.count(1);
    await server.delete(`${accounts}/watcher`, { headers });
    await clock.advance(2_000);
    await watch.count(2);
    expect(watch.events.at(-1)).to.deep.include({ type: 'ERROR' });
    expect(watch.events.at(-1)?.object).to.deep.include({ code: 401, reason: 'Unauthorized' });
    await server.delete(`${bindings}/watchers`, { headers });
  });

  it('have no valid token after an administrator deletes the signing keys, and can get a new one', async () => {
    await createAccount('leaked');
    const token = await tokenOf('leaked');
    expect(await isKnown(token)).to.equal(true);
    expect((await server.delete('/openid/v1/jwks', { headers: bearing(token) })).status).to.equal(403);
    expect((await server.delete('/.well-known/openid-configuration', { headers })).status).to.equal(405);
    const answer = await server.delete('/openid/v1/jwks', { headers });
    expect([answer.status, answer.body.status]).to.deep.equal([200, 'Success']);
    expect(await isKnown(token)).to.equal(false);
    expect(await isKnown(await tokenOf('leaked'))).to.equal(true);
  });

  for (const [what, spec, message] of [
    ['less than ten minutes', { expirationSeconds: 599 }, 'may not specify a duration less than 10 minutes'],
    [
      'more than 2^32 seconds',
      { expirationSeconds: 2 ** 32 + 1 },
      'may not specify a duration larger than 2^32 seconds',
    ],
    ['an expiry that is not a number', { expirationSeconds: 'x' }, 'spec.expirationSeconds'],
    ['audiences that are not a list', { audiences: 'x' }, 'spec.audiences'],
    ['an empty audience', { audiences: [''] }, 'spec.audiences[0]'],
    ['too many audiences', { audiences: Array.from({ length: 33 }, (_each, n) => `a${n}`) }, 'spec.audiences'],
  ] as const)
    it(`get no token when the request asks for ${what}`, async () => {
      await server.post(accounts, { metadata: { name: 'asked' } }, { headers });
      const answer = await request('asked', spec);
      expect(answer.status).to.equal(422);
      expect(answer.body.message).to.include(message);
    });

  it('get no token for a body that names another account or another kind, for a GET, or for an absent account', async () => {
    expect((await request('nobody')).body.message).to.equal('serviceaccounts "nobody" not found');
    await createAccount('one');
    const other = await server.post(`${accounts}/one/token`, { metadata: { name: 'two' } }, { headers });
    expect(other.status).to.equal(400);
    expect((await server.post(`${accounts}/one/token`, [], { headers })).status).to.equal(400);
    expect((await server.post(`${accounts}/one/token`, { kind: 'Lease' }, { headers })).status).to.equal(400);
    expect((await server.get(`${accounts}/one/token`, headers)).status).to.equal(405);
    expect((await server.get('/api/v1/namespaces/default/namespaces/one/token', headers)).status).to.equal(404);
    const long = await request('one', { expirationSeconds: 2 ** 32 });
    expect(long.body.spec.expirationSeconds).to.equal(86_400);
  });
});
