import { expect } from 'chai';
import { FakeClock } from '@homeostat/controller-runtime/testing';
import { person, persons } from './support/models/models.ts';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';
import type { Answer } from './support/servers/test-server.ts';

const ann = `${persons}/ann`;

function namesOf({ status, text, body }: Answer): string[] {
  expect(status, text).to.equal(200);
  return body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
}

describe('spec: the generated endpoints', () => {
  let server: TestServer;

  before(async () => {
    server = await TestServer.start();
  });

  beforeEach(async () => {
    await server.delete(persons);
    await server.create(persons, person('ann', { age: 30 }));
  });

  after(() => server.stop());

  it('create by POST: 201 with the stored object [spec 4.1-create, 4.1-bodies]', async () => {
    const { status, body } = await server.post(persons, person('bob', { age: 5 }));
    expect(status).to.equal(201);
    expect(body).to.deep.include({ kind: 'Person', spec: { name: 'Ann Lee', age: 5, nick: 'none' } });
    expect((await server.get(`${persons}/bob`)).body).to.deep.equal(body);
  });

  it('list by GET: 200 with the objects of a page, the number of the page, and the totals [spec 4.1-list, 4.1-list-envelope]', async () => {
    await server.create(persons, person('bob'));
    const answer = await server.get(`${persons}?sort=name,asc&size=1`);
    expect(namesOf(answer)).to.deep.equal(['ann']);
    expect(answer.body).to.include({ page: 1, size: 1, total: 2, totalPages: 2, first: true, last: false });
    expect(answer.body.items[0]).to.deep.equal((await server.get(ann)).body);
  });

  it('read an object by GET of its name: 200 and the object, or 404 [spec 4.1-read-one, 4.1-bodies]', async () => {
    const { status, body } = await server.get(ann);
    expect([status, body.metadata.name, body.spec.age]).to.deep.equal([200, 'ann', 30]);
    expectRefusal(await server.get(`${persons}/nobody`), { reason: 'NotFound' });
  });

  it('update an object by PUT of its name: 200 and the object, or 404 [spec 4.1-update, 4.1-bodies]', async () => {
    const { status, body } = await server.put(ann, person('ann', { age: 31 }));
    expect([status, body.spec.age, body.metadata.version]).to.deep.equal([200, 31, 2]);
    expect((await server.get(ann)).body).to.deep.equal(body);
    expectRefusal(await server.put(`${persons}/nobody`, person('nobody')), { reason: 'NotFound' });
  });

  it('delete only the named object by DELETE [spec 4.1-delete]', async () => {
    await server.create(persons, person('bob'));
    expect((await server.delete(ann)).status).to.equal(200);
    expect(namesOf(await server.get(persons))).to.deep.equal(['bob']);
    expectRefusal(await server.delete(ann), { reason: 'NotFound' });
  });

  it('serve the subresource status, and respond with 404 to paths of other subresources [spec 4.1-path, 4.1-subextension]', async () => {
    const sent = { ...person('ann', { age: 99 }), status: { greeting: 'hello' } };
    const { body } = await server.put(`${ann}/status`, sent);
    expect([body.spec.age, body.status]).to.deep.equal([30, { greeting: 'hello' }]);
    for (const name of ['scale', 'spec', 'metadata']) {
      expectRefusal(await server.get(`${ann}/${name}`), { reason: 'NotFound' });
    }
  });

  it('write nothing when the version of an update differs from the stored version [spec 2.3-version-mismatch, 7-version]', async () => {
    const { metadata } = (await server.put(ann, person('ann', { age: 31 }, { version: 1 }))).body;
    expect(metadata.version).to.equal(2);
    expectRefusal(await server.put(ann, person('ann', { age: 32 }, { version: 1 })), { reason: 'Conflict' });
    expect((await server.get(ann)).body.spec.age).to.equal(31);
    expect((await server.put(ann, person('ann', { age: 32 }))).body.metadata.version).to.equal(3);
  });
});

describe('spec: the parameters of a list', () => {
  const count = 120;
  const nameOf = (i: number): string => `p${String(i).padStart(3, '0')}`;
  const oldestFirst = Array.from({ length: count }, (_, i) => nameOf(i));
  const newestFirst = oldestFirst.toReversed();
  let server: TestServer;

  before(async () => {
    const clock = new FakeClock();
    server = await TestServer.start({ clock });
    for (let i = 0; i < count; i += 1) {
      const labels = i % 2 === 0 ? { team: 'red' } : {};
      await server.create(persons, person(nameOf(i), { gender: i % 3 === 0 ? 'MALE' : 'FEMALE' }, { labels }));
      await clock.advance(1_000);
    }
  });

  after(() => server.stop());

  const list = async (query: string): Promise<string[]> => namesOf(await server.get(`${persons}?${query}`));

  it('default to all objects, newest first [spec 4.2-size-default, 4.2-sort-default, 4.2-label-selector-default, 4.2-field-selector-default, 8-list-size]', async () => {
    expect(namesOf(await server.get(persons))).to.deep.equal(newestFirst);
    expect(await list('sort=metadata.creationTimestamp,desc')).to.deep.equal(newestFirst);
    expect(await list('labelSelector=&fieldSelector=')).to.deep.equal(newestFirst);
  });

  it('select a page by number, from 1, and the number of objects on a page [spec 4.2-page, 4.2-size]', async () => {
    expect(await list('page=1&size=50')).to.deep.equal(newestFirst.slice(0, 50));
    expect(await list('page=2&size=50')).to.deep.equal(newestFirst.slice(50, 100));
    expect(await list('page=3&size=50')).to.deep.equal(newestFirst.slice(100));
  });

  it('default to page 1 when only a size is given [spec 4.2-page-default]', async () => {
    expect(await list('size=7')).to.deep.equal(newestFirst.slice(0, 7));
  });

  it('return an empty list with the total number for a page beyond the end [spec 4.2-page-beyond]', async () => {
    const { status, body } = await server.get(`${persons}?page=4&size=50`);
    expect([status, body.items, body.total, body.totalPages]).to.deep.equal([200, [], count, 3]);
  });

  it('sort by a field and a direction [spec 4.2-sort]', async () => {
    expect(await list('sort=metadata.name,asc')).to.deep.equal(oldestFirst);
    expect(await list('sort=name,desc')).to.deep.equal(newestFirst);
  });

  it('combine with AND; a page is a part of the selected and sorted objects [spec 4.2-and]', async () => {
    const expected = oldestFirst.filter((_, i) => i % 2 === 0 && i % 3 === 0 && i !== 6);
    const query = 'labelSelector=team%3Dred&fieldSelector=spec.gender%3DMALE,metadata.name!%3Dp006&sort=name,asc';
    expect(await list(query)).to.deep.equal(expected);
    expect(await list(`${query}&page=2&size=5`)).to.deep.equal(expected.slice(5, 10));
  });
});
