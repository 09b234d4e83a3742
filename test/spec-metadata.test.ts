import { expect } from 'chai';
import { person, persons } from './support/models/models.ts';
import { expectRefusal, leavesNoTrace } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';

describe('spec: metadata', () => {
  let server: TestServer;

  before(async () => {
    server = await TestServer.start();
  });

  beforeEach(async () => {
    await server.delete(persons);
    await server.create(persons, person('ann'));
  });

  after(() => server.stop());

  const withLabel = (key: string): Record<string, unknown> => person('bob', {}, { labels: { [key]: 'v' } });

  it('has an integer as version, and refuses other values [spec 2.3-version-type]', async () => {
    for (const version of ['1', 1.5, true, {}]) {
      const answer = await leavesNoTrace(server, () => server.put(`${persons}/ann`, person('ann', {}, { version })));
      expectRefusal(answer, { reason: 'BadRequest', message: 'metadata.version' });
    }
  });

  it('has a version that no client can set, by PUT or by PATCH [spec 2.3-version-servers, 7-version]', async () => {
    for (const version of [2, 7, 0]) {
      const put = await leavesNoTrace(server, () =>
        server.put(`${persons}/ann`, person('ann', { age: 5 }, { version })),
      );
      expectRefusal(put, { reason: 'Conflict' });
      const patch = await leavesNoTrace(server, () => server.patch(`${persons}/ann`, { metadata: { version } }));
      expectRefusal(patch, { reason: 'Conflict' });
    }
    expect((await server.get(`${persons}/ann`)).body.metadata.version).to.equal(1);
  });

  for (const [field, rule] of [
    ['labels', '2.3-labels-map'],
    ['annotations', '2.3-annotations'],
  ] as const) {
    it(`has ${field} that map strings to strings, and refuses other values [spec ${rule}]`, async () => {
      const { body } = await server.post(persons, person('bob', {}, { [field]: { a: 'x', b: '' } }));
      expect(body.metadata[field]).to.deep.equal({ a: 'x', b: '' });
      for (const value of [{ a: 5 }, { a: true }, { a: ['x'] }, { a: {} }, ['a'], 'a']) {
        const answer = await leavesNoTrace(server, () => server.post(persons, person('eve', {}, { [field]: value })));
        expectRefusal(answer, { reason: 'BadRequest', message: `metadata.${field}` });
      }
    });
  }

  it('has finalizers that are strings, and refuses other values [spec 2.3-finalizers-set] [slow]', async () => {
    for (const finalizers of ['a.b/c', [5], { a: 'b' }]) {
      const answer = await leavesNoTrace(server, () => server.post(persons, person('eve', {}, { finalizers })));
      expectRefusal(answer, { reason: 'BadRequest', message: 'metadata.finalizers' });
    }
  });

  type Row = readonly [claim: string, rule: string, good: readonly string[], bad: readonly string[]];
  const names: readonly Row[] = [
    ['a name of at most 253 characters', '2.4-length', ['n', 'n'.repeat(253)], ['n'.repeat(254)]],
    [
      'a name of lowercase letters, digits and hyphens',
      '2.4-characters',
      ['a-1', '0', 'a--b'],
      ['aB', 'a.b', 'a_b', 'a b', 'ß', 'a%'],
    ],
    ['a name with a letter or a digit at both ends', '2.4-ends', ['1a', 'a1'], ['-a', 'a-', '-']],
  ];
  for (const [claim, rule, good, bad] of names) {
    it(`has ${claim} [spec ${rule}]`, async () => {
      for (const name of good) expect((await server.post(persons, person(name))).status, name).to.equal(201);
      for (const name of bad) {
        const answer = await leavesNoTrace(server, () => server.post(persons, person(name)));
        expectRefusal(answer, { reason: 'Invalid', causes: ['FieldValueInvalid metadata.name'] });
      }
    });
  }

  const keys: readonly Row[] = [
    [
      'label keys with or without a prefix, and one slash at most',
      '2.5-form',
      ['plain', 'example.com/key'],
      ['a.b/c/d', 'a.b/', '/', ''],
    ],
    [
      'label keys whose prefix is a DNS subdomain',
      '2.5-prefix',
      ['a/k', 'my-app.example.com/k', '1.2/k'],
      ['A.b/k', 'a_b.c/k', '-a.b/k', 'a.b-/k', 'a b/k', '/k'],
    ],
    [
      'label keys whose prefix has at most 253 characters',
      '2.5-prefix-length',
      [`${'p'.repeat(253)}/k`],
      [`${'p'.repeat(254)}/k`],
    ],
    [
      'label keys whose prefix is a domain, also in reverse order',
      '2.5-prefix-domain',
      ['com.example.app/k', 'people.example.com/k'],
      [],
    ],
    [
      'label keys whose name has at most 63 characters',
      '2.5-name-length',
      ['k'.repeat(63), `a.b/${'k'.repeat(63)}`],
      ['k'.repeat(64), `a.b/${'k'.repeat(64)}`],
    ],
    [
      'label keys whose name is alphanumeric at both ends',
      '2.5-name-ends',
      ['k', '9k', 'kZ', 'a.b/Kk'],
      ['-k', 'k-', '_k', 'k_', '.k', 'k.', 'a.b/-k', 'a.b/k.'],
    ],
    [
      'label keys whose name has letters, digits, hyphens, underscores and dots',
      '2.5-name-characters',
      ['a-b_c.D9', 'a.b/a-b_c.D9'],
      ['a b', 'a!', 'a:b', 'käse', 'a.b/a@b'],
    ],
  ];
  for (const [claim, rule, good, bad] of keys) {
    it(`has ${claim} [spec ${rule}]`, async () => {
      for (const key of good) {
        expect((await server.post(persons, withLabel(key))).status, key).to.equal(201);
        await server.delete(`${persons}/bob`);
      }
      for (const key of bad) {
        const answer = await leavesNoTrace(server, () => server.post(persons, withLabel(key)));
        expectRefusal(answer, { reason: 'Invalid', message: `metadata.labels: Invalid value: "${key.slice(0, 200)}` });
      }
    });
  }

  describe('shows the state of an object', () => {
    const listed = async (): Promise<string[]> =>
      (await server.get(`${persons}?sort=name,asc`)).body.items.map(
        ({ metadata }: { metadata: { name: string } }) => metadata.name,
      );

    it('live, without deletionTimestamp: the object can be read, listed and changed [spec 3-live]', async () => {
      const { body } = await server.get(`${persons}/ann`);
      expect(body.metadata).to.not.have.property('deletionTimestamp');
      expect(await listed()).to.deep.equal(['ann']);
      expect((await server.put(`${persons}/ann`, person('ann', { age: 9 }))).body.spec.age).to.equal(9);
    });

    it('deleted by a client, but kept by a finalizer: the object can be read, listed, and selected by deletionTimestamp [spec 2.3-deletion-timestamp, 3-declared-deleted, 2.8-default-deletion-timestamp]', async () => {
      await server.create(persons, person('held', {}, { finalizers: ['people.example.com/hold'] }));
      const { deletionTimestamp } = (await server.delete(`${persons}/held`)).body.metadata;
      expect(deletionTimestamp).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      expect((await server.get(`${persons}/held`)).body.metadata.deletionTimestamp).to.equal(deletionTimestamp);
      expect(await listed()).to.deep.equal(['ann', 'held']);
      const query = `fieldSelector=metadata.deletionTimestamp%3D${deletionTimestamp}`;
      const found = (await server.get(`${persons}?${query}`)).body.items;
      expect(found.map(({ metadata }: { metadata: { name: string } }) => metadata.name)).to.deep.equal(['held']);
      const sorted = (await server.get(`${persons}?sort=metadata.deletionTimestamp,asc`)).body.items;
      expect(sorted[0].metadata.name).to.equal('held');
      await server.patch(`${persons}/held`, { metadata: { finalizers: null } });
      expect(await listed()).to.deep.equal(['ann']);
    });
  });
});
