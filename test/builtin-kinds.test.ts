import { expect } from 'chai';
import { FakeClock } from '@homeostat/controller-runtime/testing';
import { persons } from './support/models/models.ts';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';

const events = '/api/v1/namespaces/default/events';
const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };

function newEvent(name: string, fields: object = {}): object {
  const involvedObject = { apiVersion: 'demo.example.com/v1alpha1', kind: 'Person', name: 'ann', uid: 'u1' };
  return { apiVersion: 'v1', kind: 'Event', metadata: { name }, involvedObject, ...fields };
}

describe('the built-in kinds', () => {
  let server: TestServer;
  let clock: FakeClock;

  before(async () => {
    clock = new FakeClock(Date.parse('2026-01-01T00:00:00Z'));
    server = await TestServer.start({ clock });
  });

  after(() => server.stop());

  it('are served from the start, with schemas for kubectl explain', async () => {
    const { body } = await server.get('/openapi/v3/api/v1');
    const kinds = Object.values(body.components.schemas as Record<string, Record<string, readonly { kind: string }[]>>)
      .flatMap((schema) => schema['x-kubernetes-group-version-kind'] ?? [])
      .map(({ kind }) => kind);
    expect(kinds).to.include.members(['Namespace', 'Event', 'EventList']);
    const reviews = await server.get('/openapi/v3/apis/authorization.k8s.io/v1');
    expect(Object.keys(reviews.body.paths)).to.include(
      '/apis/authorization.k8s.io/v1/namespaces/{namespace}/localsubjectaccessreviews',
    );
  });

  it('have an APIService for each served version; clients can neither delete nor watch APIServices [compat discovery] [spec operators-apiservices]', async () => {
    const path = '/apis/apiregistration.k8s.io/v1/apiservices';
    const { body } = await server.get(path);
    const names = body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
    expect(names).to.include.members(['v1.', 'v1.coordination.k8s.io', 'v1alpha1.people.example.com']);
    const one = await server.get(`${path}/v1.coordination.k8s.io`);
    expect(one.body.spec).to.include({ group: 'coordination.k8s.io', version: 'v1' });
    expect(one.body.status.conditions[0]).to.include({ type: 'Available', status: 'True', reason: 'Local' });
    expectRefusal(await server.get(`${path}/v9.absent`), { reason: 'NotFound' });
    expectRefusal(await server.delete(`${path}/v1.`), { reason: 'MethodNotAllowed' });
    expectRefusal(await server.get(`${path}?watch=true`), { reason: 'MethodNotAllowed' });
  });

  it('include services, which are always an empty list, and cannot be written', async () => {
    const services = '/api/v1/namespaces/kube-system/services';
    expect((await server.get(`${services}?labelSelector=kubernetes.io/cluster-service%3Dtrue`)).body.items).to.be.empty;
    expectRefusal(await server.get(`${services}/a`), { reason: 'NotFound' });
    const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'a' } };
    for (const [method, path] of [
      ['POST', services],
      ['DELETE', services],
      ['PUT', `${services}/a`],
      ['DELETE', `${services}/a`],
    ] as const) {
      expectRefusal(await server.request(method, path, { body: service }), { reason: 'MethodNotAllowed' });
    }
    const { paths } = (await server.get('/openapi/v3/api/v1')).body;
    expect(Object.keys(paths[services.replace('kube-system', '{namespace}')])).to.deep.equal(['parameters', 'get']);
  });

  it('include events, which field selectors find by involvedObject; an empty value selects events without the field [compat events]', async () => {
    await server.create(events, newEvent('ann.1'));
    await server.create(events, newEvent('bob.1', { involvedObject: { name: 'bob', namespace: 'default' } }));
    const select = async (selector: string): Promise<readonly string[]> => {
      const { body } = await server.get(`/api/v1/events?fieldSelector=${encodeURIComponent(selector)}`);
      return body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name) as string[];
    };
    expect(
      await select(
        'involvedObject.kind=Person,involvedObject.uid=u1,involvedObject.name=ann,involvedObject.namespace=',
      ),
    ).to.deep.equal(['ann.1']);
    expect(await select('involvedObject.namespace=default')).to.deep.equal(['bob.1']);
    expect(await select('involvedObject.kind=Machine')).to.deep.equal([]);
  });

  it('show events in tables as Kubernetes does [compat events] [spec operators-columns]', async () => {
    const times = { firstTimestamp: '2025-12-31T23:00:00Z', lastTimestamp: '2025-12-31T23:58:00Z' };
    await server.create(
      events,
      newEvent('ann.2', {
        ...times,
        type: 'Warning',
        reason: 'Ill',
        message: 'A cold\n',
        count: 3,
        source: { component: 'nurse' },
        eventTime: null,
      }),
    );
    const { body } = await server.get(`${events}/ann.2`, table);
    expect(body.columnDefinitions.map(({ name }: { name: string }) => name)).to.deep.equal([
      'Last Seen',
      'Type',
      'Reason',
      'Object',
      'Subobject',
      'Source',
      'Message',
      'First Seen',
      'Count',
      'Name',
    ]);
    expect(body.rows[0].cells).to.deep.equal([
      '2m',
      'Warning',
      'Ill',
      'person/ann',
      '',
      'nurse',
      'A cold',
      '60m',
      3,
      'ann.2',
    ]);
    const newer = {
      series: { count: 9, lastObservedTime: '2025-12-31T23:59:50.000000Z' },
      eventTime: times.firstTimestamp,
    };
    await server.create(events, newEvent('ann.3', { ...newer, reportingComponent: 'c', reportingInstance: 'i' }));
    const { cells } = (await server.get(`${events}/ann.3`, table)).body.rows[0];
    expect([cells[0], cells[5], cells[7], cells[8]]).to.deep.equal(['10s', 'c, i', '60m', 9]);
  });

  it('accept objects without apiVersion and kind, which typed clients send; other kinds refuse such objects', async () => {
    const namespaces = '/api/v1/namespaces';
    const made = await server.create(namespaces, { metadata: { name: 'typed' } });
    expect(made).to.include({ apiVersion: 'v1', kind: 'Namespace' });
    const replaced = await server.put(`${namespaces}/typed`, { ...made, kind: '', apiVersion: null });
    expect(replaced.body).to.include({ apiVersion: 'v1', kind: 'Namespace' });
    expect((await server.post(namespaces, { kind: 'Person', metadata: { name: 'other' } })).status).to.equal(400);
    expect((await server.post(namespaces, [])).status).to.equal(400);
    const { status, body } = await server.post(persons, { metadata: { name: 'ann' }, spec: { name: 'Ann' } });
    expect([status, body.message]).to.deep.equal([
      400,
      'the object provided is unrecognized (must be of type Person): apiVersion: must be a non-empty string',
    ]);
  });

  it('allow one holder of a Lease: a create of an existing Lease and an update with an old resourceVersion get 409, as the leader election of clients expects [compat leases]', async () => {
    const renewTime = '2026-01-01T00:00:00.000000Z';
    const lease = (holder: string, metadata: object): object => ({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'op-lock.example.com', ...metadata },
      spec: {
        holderIdentity: holder,
        leaseDurationSeconds: 15,
        acquireTime: renewTime,
        renewTime,
        leaseTransitions: 0,
      },
    });
    const path = `${leases}/op-lock.example.com`;
    expect((await server.get(path)).status).to.equal(404);
    const created = await server.create(leases, lease('a', {}));
    expect((await server.post(leases, lease('b', {}))).body.reason).to.equal('AlreadyExists');
    const { resourceVersion } = created.metadata;
    const renewed = await server.put(path, lease('a', { resourceVersion, labels: { renewed: 'yes' } }));
    expect(renewed.status).to.equal(200);
    expect((await server.put(path, lease('b', { resourceVersion }))).body.reason).to.equal('Conflict');
    const taken = await server.put(path, lease('b', { resourceVersion: renewed.body.metadata.resourceVersion }));
    expect([taken.status, taken.body.spec.holderIdentity]).to.deep.equal([200, 'b']);
    expect((await server.get(path, table)).body.rows[0].cells).to.deep.equal(['op-lock.example.com', 'b', '0s']);
    const wrong = await server.patch(path, { spec: { leaseDurationSeconds: 0 } });
    expect(wrong.body.details.causes[0].field).to.equal('spec.leaseDurationSeconds');
  });
});
