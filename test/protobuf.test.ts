import { readFileSync } from 'node:fs';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { TestServer } from './support/servers/test-server.ts';
import type { Answer } from './support/servers/test-server.ts';
import {
  definitions,
  widgetDefinition,
  widgetDefinitionPath,
  widgets,
} from './support/definitions/widget-definition.ts';

interface Recorded {
  readonly client: string;
  readonly url: string;
  readonly base64: string;
}

const file = new URL('../vectors/protobuf-bodies.json', import.meta.url);
const { cases } = JSON.parse(readFileSync(file, 'utf8')) as { readonly cases: readonly Recorded[] };

const type = 'application/vnd.kubernetes.protobuf';

/** The Accept header of clients in Go: protobuf first, then JSON. */
const headers = { accept: `${type},application/json` };

describe('bodies in protobuf [compat protobuf]', () => {
  let server: TestServer;

  before(async () => {
    server = await TestServer.start();
    // The recorded request for a token needs this service account, which a controller creates.
    const account = '/api/v1/namespaces/default/serviceaccounts/default';
    await eventually(async () => (await server.get(account)).status === 200);
  });

  after(() => server.stop());

  function send(path: string, body: Buffer): Promise<Answer> {
    return server.post(path, body, { type, headers });
  }

  for (const { client, url, base64 } of cases) {
    it(`${client}: the recorded body is accepted, and the response is JSON`, async () => {
      const answer = await send(url, Buffer.from(base64, 'base64'));
      expect(answer.status, answer.text).to.equal(201);
      expect(answer.headers['content-type']).to.equal('application/json');
    });
  }

  it('are used for definitions and admission policies in requests and responses [spec operators-protobuf]', async () => {
    const group = '/apis/admissionregistration.k8s.io/v1';
    const rule = { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['secrets'] };
    const head = { apiVersion: 'admissionregistration.k8s.io/v1', metadata: { name: 'a' } };
    await server.create(definitions, widgetDefinition());
    await server.create(`${group}/validatingadmissionpolicies`, {
      ...head,
      kind: 'ValidatingAdmissionPolicy',
      spec: { matchConstraints: { resourceRules: [rule] }, validations: [{ expression: 'true' }] },
    });
    await server.create(`${group}/validatingadmissionpolicybindings`, {
      ...head,
      kind: 'ValidatingAdmissionPolicyBinding',
      spec: { policyName: 'a', validationActions: ['Deny'] },
    });
    await eventually(async () => (await server.get(widgets)).status === 200);
    for (const path of [
      widgetDefinitionPath,
      `${group}/validatingadmissionpolicies/a`,
      `${group}/validatingadmissionpolicybindings/a`,
    ]) {
      const before = (await server.get(path)).body;
      const sent = await fetch(server.api.url + path, { headers: { accept: type } });
      expect([sent.status, sent.headers.get('content-type')]).to.deep.equal([200, type]);
      const body = await sent.arrayBuffer();
      const written = await fetch(server.api.url + path, { method: 'PUT', headers: { 'content-type': type }, body });
      expect([written.status, ((await written.json()) as { spec: object }).spec]).to.deep.equal([200, before.spec]);
    }
  });

  it('are sent to a client that accepts only protobuf, also in lists, watches and reviews [spec operators-protobuf]', async () => {
    const only = { accept: type };
    const path = '/api/v1/namespaces/default/configmaps';
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { k: 'v' } };
    const created = await server.post(path, map, { headers: only });
    expect([created.status, created.headers['content-type']]).to.deep.equal([201, type]);
    for (const asked of [`${path}/a`, path]) {
      const { status, headers: sent, text } = await server.get(asked, only);
      expect([status, sent['content-type'], text.slice(0, 4)]).to.deep.equal([200, type, 'k8s\0']);
      expect(text).to.contain(asked === path ? 'ConfigMapList' : 'ConfigMap');
    }
    const watched = await server.get(`${path}?watch=true&resourceVersion=0&timeoutSeconds=1`, only);
    expect(watched.headers['content-type']).to.equal(`${type};stream=watch`);
    expect(watched.text).to.contain('ADDED').and.to.contain('ConfigMap');
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const who = await server.post('/apis/authentication.k8s.io/v1/selfsubjectreviews', review, { headers: only });
    expect([who.status, who.headers['content-type']]).to.deep.equal([201, type]);
    expect(who.text).to.contain('developer');
    expect((await server.get('/apis/people.example.com/v1alpha1/persons', only)).status).to.equal(406);
  });

  it('are refused with 415 for kinds that support only JSON, and the error names the accepted types', async () => {
    const answer = await send('/apis/people.example.com/v1alpha1/persons', Buffer.from('k8s\0'));
    expect(answer.status).to.equal(415);
    expect(answer.body.message).to.contain('application/json').and.not.to.contain('protobuf');
  });

  it('are refused with 400 when they are malformed, or contain an object of another kind', async () => {
    const wrong = await send('/api/v1/namespaces', Buffer.from('{}'));
    expect([wrong.status, wrong.body.reason]).to.deep.equal([400, 'BadRequest']);
    const lease = cases.find(({ client }) => client === 'client-go leader election')?.base64 ?? '';
    const other = await send('/api/v1/namespaces', Buffer.from(lease, 'base64'));
    expect([other.status, other.body.message]).to.deep.equal([
      400,
      'the API version in the data (coordination.k8s.io/v1) does not match the expected API version (v1)',
    ]);
  });

  it('may contain the preconditions of a deletion', async () => {
    const path = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
    await server.create(path, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'held' } });
    // DeleteOptions with preconditions.uid "x".
    const options = Buffer.concat([Buffer.from('k8s\0'), Buffer.from([18, 5, 18, 3, 10, 1]), Buffer.from('x')]);
    const refused = await server.delete(`${path}/held`, { type, headers, body: options });
    expect([refused.status, refused.body.reason]).to.deep.equal([409, 'Conflict']);
    expect((await server.get(`${path}/held`)).status).to.equal(200);
  });
});
