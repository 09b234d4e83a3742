import { expect } from 'chai';
import { auditLine } from './audit-event.ts';
import type { AuditMoment } from './audit-event.ts';

const user = { username: 'zoë "z"', groups: ['staff'] };
const order = {
  isResource: true,
  verb: 'create',
  group: 'shop.example.com',
  version: 'v1',
  resource: 'orders',
  subresource: undefined,
  namespace: 'a',
  name: undefined,
} as const;

const moment: AuditMoment = {
  level: 'Metadata',
  stage: 'ResponseComplete',
  auditId: 'id-1',
  uri: '/apis/shop.example.com/v1/namespaces/a/orders',
  userAgent: 'curl/8',
  address: '10.0.0.1',
  attributes: order,
  createdName: 'first',
  user,
  decision: { allowed: true, reason: 'RBAC: "by a role"' },
  receivedMs: 1_000,
  stageMs: 1_007,
  latencyMs: 7.25,
  response: { code: 201 },
};

function entryOf(changes: Partial<AuditMoment>): unknown {
  const line = auditLine({ ...moment, ...changes });
  expect(line.indexOf('\n')).to.equal(line.length - 1);
  return JSON.parse(line);
}

describe('an audit entry', () => {
  it('has the fields of audit.k8s.io/v1', () => {
    expect(entryOf({})).to.deep.equal({
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: 'Metadata',
      auditID: 'id-1',
      stage: 'ResponseComplete',
      requestURI: '/apis/shop.example.com/v1/namespaces/a/orders',
      verb: 'create',
      user: { username: 'zoë "z"', groups: ['staff'] },
      sourceIPs: ['10.0.0.1'],
      userAgent: 'curl/8',
      objectRef: {
        resource: 'orders',
        namespace: 'a',
        name: 'first',
        apiGroup: 'shop.example.com',
        apiVersion: 'v1',
      },
      responseStatus: { metadata: {}, code: 201 },
      requestReceivedTimestamp: '1970-01-01T00:00:01.000000Z',
      stageTimestamp: '1970-01-01T00:00:01.007000Z',
      annotations: {
        'authorization.k8s.io/decision': 'allow',
        'authorization.k8s.io/reason': 'RBAC: "by a role"',
        'apiserver.latency.k8s.io/total': '7.250ms',
      },
    });
  });

  it('has the `objectRef` of its own request, even after a request about another object', () => {
    const places = [
      { namespace: 'a' },
      { namespace: 'b' },
      { namespace: undefined },
      { version: 'v2' },
      { group: 'other.example.com' },
      { subresource: 'status' },
      { resource: 'persons' },
    ];
    for (const place of [...places, ...places]) {
      const attributes = { ...order, ...place };
      const { resource, namespace, group: apiGroup, version: apiVersion, subresource } = attributes;
      const named = { resource, namespace, apiGroup, apiVersion, subresource, name: 'first' };
      expect(entryOf({ attributes })).to.have.deep.property('objectRef', JSON.parse(JSON.stringify(named)));
    }
    const core = { ...order, group: '' };
    expect(entryOf({ attributes: core })).not.to.have.nested.property('objectRef.apiGroup');
  });

  it('has the address and user agent of its own request, also when other requests of the user had different ones', () => {
    const sources = [
      { address: '10.0.0.1', userAgent: 'a' },
      { address: '10.0.0.2', userAgent: 'a' },
      { address: '10.0.0.2', userAgent: '"\\' },
      { address: undefined, userAgent: '' },
    ];
    for (const source of [...sources, ...sources]) {
      const { address, userAgent } = source;
      expect(entryOf(source)).to.deep.include({ userAgent, sourceIPs: address === undefined ? [] : [address], user });
    }
    const stranger = entryOf({ user: undefined, address: '10.0.0.9', userAgent: 'b' });
    expect(stranger).to.deep.include({ user: {}, sourceIPs: ['10.0.0.9'], userAgent: 'b' });
  });

  it('has the authorization decision about its own request, also if the decision about the previous request differs', () => {
    for (const allowed of [true, false, true]) {
      const reason = `because it is ${String(allowed)}`;
      expect(entryOf({ decision: { allowed, reason } })).to.have.deep.property('annotations', {
        'authorization.k8s.io/decision': allowed ? 'allow' : 'forbid',
        'authorization.k8s.io/reason': reason,
        'apiserver.latency.k8s.io/total': '7.250ms',
      });
    }
    expect(entryOf({ decision: undefined, stage: 'RequestReceived', annotations: { a: 'b' } })).to.have.deep.property(
      'annotations',
      { a: 'b' },
    );
  });
});
