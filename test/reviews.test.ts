import { expect } from 'chai';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';
import type { Answer } from './support/servers/test-server.ts';

const authentication = 'authentication.k8s.io/v1';
const authorization = 'authorization.k8s.io/v1';
const token = 'a-token-of-the-tests';

describe('reviews [compat reviews]', () => {
  let open: TestServer;
  let closed: TestServer;

  before(async () => {
    open = await TestServer.start();
    closed = await TestServer.start({ token });
  });

  after(async () => {
    await open.stop();
    await closed.stop();
  });

  function review(server: TestServer, kind: string, spec?: object, path?: string): Promise<Answer> {
    const apiVersion = kind.includes('Access') || kind.includes('Rules') ? authorization : authentication;
    const headers = server === closed ? { authorization: `Bearer ${token}` } : {};
    const body = { apiVersion, kind, ...(spec === undefined ? {} : { spec }) };
    return server.post(path ?? `/apis/${apiVersion}/${kind.toLowerCase()}s`, body, { headers });
  }

  it('of the kind SelfSubjectReview name the user of the token, and "developer" on a server without authentication', async () => {
    const { status, body } = await review(open, 'SelfSubjectReview');
    expect([status, body]).to.deep.equal([
      201,
      {
        kind: 'SelfSubjectReview',
        apiVersion: authentication,
        metadata: {},
        spec: {},
        status: { userInfo: { username: 'developer', groups: ['system:masters', 'system:authenticated'] } },
      },
    ]);
    expect((await review(closed, 'SelfSubjectReview')).body.status.userInfo).to.deep.equal({
      username: 'admin',
      groups: ['system:masters', 'system:authenticated'],
    });
  });

  it('of a token return the user of the token, or report that the token is not valid', async () => {
    const { body } = await review(closed, 'TokenReview', { token });
    expect(body.status).to.deep.include({ authenticated: true }).and.nested.include({ 'user.username': 'admin' });
    for (const [server, other] of [
      [closed, `${token}x`],
      [open, token],
    ] as const) {
      expect((await review(server, 'TokenReview', { token: other })).body.status.authenticated).to.equal(false);
    }
    expectRefusal(await review(open, 'TokenReview', {}), {
      reason: 'Invalid',
      causes: ['FieldValueRequired spec.token'],
    });
  });

  it('accept requests of typed clients, which leave fields out, or send them as null or as an empty text', async () => {
    const attributes = { verb: 'get', resource: 'persons' };
    const typed = {
      metadata: { creationTimestamp: null },
      spec: { resourceAttributes: { ...attributes, fieldSelector: null }, nonResourceAttributes: null },
    };
    for (const names of [{}, { apiVersion: '', kind: '' }]) {
      const path = `/apis/${authorization}/selfsubjectaccessreviews`;
      const { status, body } = await open.post(path, { ...names, ...typed });
      expect([status, body.kind, body.apiVersion]).to.deep.equal([201, 'SelfSubjectAccessReview', authorization]);
      expect(body.spec).to.deep.equal({ resourceAttributes: attributes });
    }
  });

  it('of access say that system:masters may do everything and a user without roles nothing; a response has the sent spec', async () => {
    const spec = { resourceAttributes: { verb: 'get', group: 'people.example.com', resource: 'persons' } };
    const { status, body } = await review(open, 'SelfSubjectAccessReview', spec);
    expect([status, body.spec, body.status.allowed]).to.deep.equal([201, spec, true]);
    const path = { nonResourceAttributes: { path: '/metrics', verb: 'get' } };
    expect((await review(open, 'SubjectAccessReview', { ...path, user: 'jane' })).body.status.allowed).to.equal(false);
    const local = `/apis/${authorization}/namespaces/default/localsubjectaccessreviews`;
    const here = {
      resourceAttributes: { ...spec.resourceAttributes, namespace: 'default' },
      groups: ['system:masters'],
    };
    expect((await review(open, 'LocalSubjectAccessReview', here, local)).body.status.allowed).to.equal(true);
    expectRefusal(await review(open, 'LocalSubjectAccessReview', { ...spec, user: 'a' }, local), {
      reason: 'Invalid',
      causes: ['FieldValueInvalid spec.resourceAttributes.namespace'],
    });
  });

  it('of rules list every verb on everything for an administrator', async () => {
    const { body } = await review(open, 'SelfSubjectRulesReview', { namespace: 'default' });
    expect(body.status).to.deep.equal({
      resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
      nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
      incomplete: false,
    });
  });

  it('are refused when they ask about no request, about two requests or without a subject, or have a wrong form', async () => {
    const both = { resourceAttributes: {}, nonResourceAttributes: {} };
    for (const spec of [{}, both]) {
      expectRefusal(await review(open, 'SelfSubjectAccessReview', spec), {
        reason: 'Invalid',
        causes: ['FieldValueInvalid spec.resourceAttributes'],
      });
    }
    expectRefusal(await review(open, 'SubjectAccessReview', { resourceAttributes: {} }), {
      reason: 'Invalid',
      causes: ['FieldValueInvalid spec.user'],
    });
    expectRefusal(await review(open, 'TokenReview', { token: 7 }), {
      reason: 'Invalid',
      causes: ['FieldValueTypeInvalid spec.token'],
    });
    expectRefusal(await review(open, 'SelfSubjectReview', undefined, `/apis/${authentication}/tokenreviews`), {
      reason: 'BadRequest',
    });
    const path = `/apis/${authentication}/selfsubjectreviews`;
    for (const body of ['[]', 'null', '"x"', '{']) {
      expectRefusal(await open.post(path, body), { reason: 'BadRequest' });
    }
  });

  it('can only be created, and are not stored', async () => {
    const path = `/apis/${authentication}/tokenreviews`;
    for (const method of ['GET', 'DELETE', 'PUT', 'PATCH']) {
      const answer = await open.request(method, path);
      expectRefusal(answer, { reason: 'MethodNotAllowed' });
      expect(answer.headers['allow']).to.equal('POST');
    }
    expectRefusal(await open.get(`${path}/x`), { reason: 'NotFound' });
  });
});
