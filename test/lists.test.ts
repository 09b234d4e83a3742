import { expect } from 'chai';
import { FakeClock } from '@homeostat/controller-runtime/testing';
import { letters, machines, newLetter, newMachine, person, persons } from './support/models/models.ts';
import { createNamespaces } from './support/models/namespaces.ts';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';
import type { Answer } from './support/servers/test-server.ts';

const namespaced = (namespace: string): string => letters.replace('letters', `namespaces/${namespace}/letters`);

function namesOf({ status, text, body }: Answer): string[] {
  expect(status, text).to.equal(200);
  return body.items.map((item: { metadata: { name: string } }) => item.metadata.name);
}

const tagOf = (rule?: string): string => (rule === undefined ? '' : ` [spec ${rule}]`);

/** Returns all fields of the envelope except items and metadata. */
function envelopeOf({ body }: Answer): Record<string, unknown> {
  const { items: _items, metadata: _metadata, ...rest } = body;
  return rest;
}

describe('lists', () => {
  let server: TestServer;
  let clock: FakeClock;
  /** The resourceVersion of the person that was created last. */
  let newest: string;

  before(async () => {
    clock = new FakeClock();
    server = await TestServer.start({ clock });
    await createNamespaces(server.api.client, ['sorting', 'chunks', 'revisions', 'here', 'there']);
    const spec = [
      { name: 'Zoë', gender: 'FEMALE', tags: ['x', 'b'] },
      { name: 'adam', gender: 'MALE', tags: ['c'] },
      { name: 'Bob' },
      { name: '\u{1F600}', gender: 'MALE', tags: [] },
      { name: '\uFFFD', gender: 'FEMALE', tags: ['a', 'z'], slug: 'a,b=c\\d(e)' },
    ];
    const labels = [
      { team: 'red', size: '10' },
      { team: 'blue', size: '9' },
      { team: 'red' },
      {},
      { 'example.com/x': '' },
    ];
    for (const [i, fields] of spec.entries()) {
      const { metadata } = await server.create(persons, person(`p${i}`, fields, { labels: labels[i] }));
      newest = metadata.resourceVersion;
      await clock.advance(1_000);
    }
  });

  after(() => server.stop());

  const list = (query: string, path = persons): Promise<Answer> =>
    server.get(`${path}${query === '' ? '' : `?${query}`}`);
  const select = (parameter: string, text: string): Promise<Answer> =>
    list(`sort=name,asc&${parameter}=${encodeURIComponent(text)}`);

  describe('envelope [spec 4.1-list-envelope]', () => {
    const all = { apiVersion: 'people.example.com/v1alpha1', kind: 'PersonList' };
    const cases: readonly [query: string, names: string[], envelope: object][] = [
      [
        '',
        ['p4', 'p3', 'p2', 'p1', 'p0'],
        { page: 1, size: 0, total: 5, totalPages: 1, first: true, last: true, hasNext: false, hasPrevious: false },
      ],
      [
        'size=0',
        ['p4', 'p3', 'p2', 'p1', 'p0'],
        { page: 1, size: 0, total: 5, totalPages: 1, first: true, last: true, hasNext: false, hasPrevious: false },
      ],
      [
        'page=1',
        ['p4', 'p3', 'p2', 'p1', 'p0'],
        { page: 1, size: 0, total: 5, totalPages: 1, first: true, last: true, hasNext: false, hasPrevious: false },
      ],
      [
        'page=2',
        [],
        { page: 2, size: 0, total: 5, totalPages: 1, first: false, last: true, hasNext: false, hasPrevious: true },
      ],
      [
        'page=1&size=2',
        ['p4', 'p3'],
        { page: 1, size: 2, total: 5, totalPages: 3, first: true, last: false, hasNext: true, hasPrevious: false },
      ],
      [
        'size=2',
        ['p4', 'p3'],
        { page: 1, size: 2, total: 5, totalPages: 3, first: true, last: false, hasNext: true, hasPrevious: false },
      ],
      [
        'page=2&size=2',
        ['p2', 'p1'],
        { page: 2, size: 2, total: 5, totalPages: 3, first: false, last: false, hasNext: true, hasPrevious: true },
      ],
      [
        'page=3&size=2',
        ['p0'],
        { page: 3, size: 2, total: 5, totalPages: 3, first: false, last: true, hasNext: false, hasPrevious: true },
      ],
      [
        'page=4&size=2',
        [],
        { page: 4, size: 2, total: 5, totalPages: 3, first: false, last: true, hasNext: false, hasPrevious: true },
      ],
      [
        'page=10000000000&size=10000000000',
        [],
        {
          page: 10_000_000_000,
          size: 10_000_000_000,
          total: 5,
          totalPages: 1,
          first: false,
          last: true,
          hasNext: false,
          hasPrevious: true,
        },
      ],
      [
        'size=5',
        ['p4', 'p3', 'p2', 'p1', 'p0'],
        { page: 1, size: 5, total: 5, totalPages: 1, first: true, last: true, hasNext: false, hasPrevious: false },
      ],
    ];
    for (const [query, names, envelope] of cases) {
      it(`returns the items, with the number and size of the page and the totals, for the query "${query}"`, async () => {
        const answer = await list(query);
        expect(namesOf(answer)).to.deep.equal(names);
        expect(envelopeOf(answer)).to.deep.equal({ ...all, ...envelope });
        expect(answer.body.metadata).to.deep.equal({ resourceVersion: newest });
      });
    }

    it('has the total of the objects that the label selector selects, not of all objects', async () => {
      const answer = await list('labelSelector=team%3Dred&size=1');
      expect(envelopeOf(answer)).to.include({ total: 2, totalPages: 2, hasNext: true });
    });

    it('has no items and the present revision when there are no objects', async () => {
      for (const query of ['', 'size=10', 'limit=10']) {
        const answer = await list(query, machines);
        expect(envelopeOf(answer)).to.include({
          kind: 'MachineList',
          total: 0,
          first: true,
          last: true,
          hasNext: false,
        });
        expect(answer.body.metadata).to.deep.equal({ resourceVersion: newest });
        expect(answer.body.items).to.deep.equal([]);
      }
    });

    it('has items that are equal to the response to a GET of each object, with apiVersion and kind', async () => {
      const { body } = await list('size=1');
      expect(body.items[0]).to.deep.equal((await server.get(`${persons}/p4`)).body);
      expect(body.items[0].kind).to.equal('Person');
    });

    it('has the fields `total` and `page` also in the response to a list with `?limit=`', async () => {
      const answer = await list('limit=2');
      expect(envelopeOf(answer)).to.include({ page: 1, size: 0, total: 5 });
      expect(answer.body.metadata.remainingItemCount).to.equal(3);
    });
  });

  describe('sort [spec 9-indexes-2.15]', () => {
    const orders: readonly [query: string, names: string[], why: string][] = [
      ['', ['p4', 'p3', 'p2', 'p1', 'p0'], 'newest first [spec 4.2-sort-default]'],
      [
        'sort=metadata.creationTimestamp,asc',
        ['p0', 'p1', 'p2', 'p3', 'p4'],
        'a metadata field by its path [spec 2.8-default-creation-timestamp]',
      ],
      ['sort=creationTimestamp,desc', ['p4', 'p3', 'p2', 'p1', 'p0'], 'creationTimestamp in short'],
      ['sort=name', ['p0', 'p1', 'p2', 'p3', 'p4'], 'the short form `name`, in the order of the index'],
      ['sort=name,desc', ['p4', 'p3', 'p2', 'p1', 'p0'], 'name descending [spec 4.2-sort]'],
      ['sort=name,DESC', ['p4', 'p3', 'p2', 'p1', 'p0'], 'a direction in capitals'],
      ['sort=spec.name,asc', ['p2', 'p0', 'p1', 'p4', 'p3'], 'texts by code point: U+FFFD before U+1F600'],
      ['sort=spec.name,desc', ['p3', 'p4', 'p1', 'p0', 'p2'], 'texts by code point, descending'],
      [
        'sort=spec.gender',
        ['p1', 'p3', 'p0', 'p4', 'p2'],
        'the order of a DESC index when no direction is given [spec 2.8-order]',
      ],
      ['sort=spec.gender,asc', ['p0', 'p4', 'p1', 'p3', 'p2'], 'equal values by name, objects without a value last'],
      [
        'sort=spec.gender,desc',
        ['p1', 'p3', 'p0', 'p4', 'p2'],
        'equal values by name ascending, objects without a value last, also in descending order',
      ],
      ['sort=spec.gender,asc&sort=name,desc', ['p4', 'p0', 'p3', 'p1', 'p2'], 'equal values by the second field'],
      ['sort=spec.tags,asc', ['p4', 'p0', 'p1', 'p2', 'p3'], 'a multi-valued index by its smallest value ascending'],
      ['sort=spec.tags,desc', ['p4', 'p0', 'p1', 'p2', 'p3'], 'a multi-valued index by its largest value descending'],
      ['sort=metadata.deletionTimestamp,desc', ['p0', 'p1', 'p2', 'p3', 'p4'], 'by name when no object has a value'],
    ];
    for (const [query, names, why] of orders) {
      it(`orders objects by ${query || 'the default'}: ${why}`, async () => {
        expect(namesOf(await list(query))).to.deep.equal(names);
        const pages = [1, 2, 3].map(async (page) => namesOf(await list(`${query}&size=2&page=${page}`)));
        expect((await Promise.all(pages)).flat(), 'page by page').to.deep.equal(names);
      });
    }

    it('orders numbers by their value, not as text: 9 before 10', async () => {
      const path = namespaced('sorting');
      for (const weight of [10, 9, -1, 100])
        await server.create(path, newLetter(`w${weight}`.replace('-', 'm'), { weight }));
      await server.create(path, newLetter('none', { sent: true }));
      expect(namesOf(await list('sort=spec.weight,asc', path))).to.deep.equal(['wm1', 'w9', 'w10', 'w100', 'none']);
      expect(namesOf(await list('sort=spec.weight,desc', path))).to.deep.equal(['w100', 'w10', 'w9', 'wm1', 'none']);
      expect(namesOf(await list('fieldSelector=spec.weight%3D9', path))).to.deep.equal(['w9']);
      expect(namesOf(await list('fieldSelector=spec.sent%3Dtrue', path))).to.deep.equal(['none']);
      await server.delete(path);
    });
  });

  describe('selectors [compat selectors]', () => {
    const byLabel: readonly [text: string, names: string[], rule?: string][] = [
      ['', ['p0', 'p1', 'p2', 'p3', 'p4']],
      ['team=red', ['p0', 'p2'], '4.2-label-equals, 2.3-labels-query'],
      ['team==red', ['p0', 'p2']],
      [' team = red ', ['p0', 'p2']],
      ['team!=red', ['p1', 'p3', 'p4'], '4.2-label-differs'],
      ['team', ['p0', 'p1', 'p2'], '4.2-label-present'],
      ['!team', ['p3', 'p4'], '4.2-label-absent'],
      ['team in (red, blue)', ['p0', 'p1', 'p2']],
      ['team=(red,blue)', ['p0', 'p1', 'p2']],
      ['team notin (red)', ['p1', 'p3', 'p4']],
      ['team in (blue),size', ['p1']],
      ['team=red,size!=10', ['p2']],
      ['size>9', ['p0']],
      ['size<10', ['p1']],
      ['example.com/x', ['p4']],
      ['example.com/x=', ['p4']],
      ['nothing', []],
      ['!nothing', ['p0', 'p1', 'p2', 'p3', 'p4']],
    ];
    for (const [text, names, rule] of byLabel) {
      it(`labelSelector "${text}" selects ${names.join(', ') || 'nothing'}${tagOf(rule)}`, async () => {
        expect(namesOf(await select('labelSelector', text))).to.deep.equal(names);
      });
    }

    const byField: readonly [text: string, names: string[], rule?: string][] = [
      ['', ['p0', 'p1', 'p2', 'p3', 'p4']],
      ['metadata.name=p1', ['p1'], '4.2-field-equals'],
      ['metadata.name!=p1', ['p0', 'p2', 'p3', 'p4'], '4.2-field-differs'],
      ['spec.name=(Bob,adam)', ['p1', 'p2'], '4.2-field-in'],
      ['spec.name in (Bob, adam)', ['p1', 'p2']],
      ['spec.name=\u{1F600}', ['p3']],
      ['spec.gender=MALE', ['p1', 'p3']],
      ['spec.gender!=MALE', ['p0', 'p2', 'p4'], '4.2-field-differs'],
      ['spec.gender notin (MALE)', ['p0', 'p2', 'p4']],
      ['spec.gender', ['p0', 'p1', 'p3', 'p4']],
      ['!spec.gender', ['p2']],
      ['spec.tags=b', ['p0'], '2.8-multi-value-attribute'],
      ['spec.tags=z,spec.tags=a', ['p4']],
      ['spec.tags!=b', ['p1', 'p2', 'p3', 'p4']],
      ['spec.slug=a\\,b\\=c\\\\d\\(e\\)', ['p4']],
      ['metadata.labels=team=red'.replace('=red', '\\=red'), ['p0', 'p2'], '2.8-default-labels'],
      ['metadata.creationTimestamp=2030-01-01T00:00:01Z', ['p1'], '2.8-default-creation-timestamp'],
      ['spec.gender=MALE,spec.name=adam', ['p1']],
    ];
    for (const [text, names, rule] of byField) {
      it(`fieldSelector "${text}" selects ${names.join(', ') || 'nothing'}${tagOf(rule)}`, async () => {
        expect(namesOf(await select('fieldSelector', text))).to.deep.equal(names);
      });
    }

    it('combine all parameters, also repeated ones, with AND [spec 4.2-and]', async () => {
      expect(
        namesOf(await list('sort=name&labelSelector=team&labelSelector=size%3E1&labelSelector=team!%3Dblue')),
      ).to.deep.equal(['p0']);
      const both = 'labelSelector=team&fieldSelector=spec.gender%3DMALE&fieldSelector=spec.name%3Dadam';
      expect(namesOf(await list(both))).to.deep.equal(['p1']);
      expect(namesOf(await list('labelSelector=team%3Dred&labelSelector=team%3Dblue'))).to.deep.equal([]);
    });

    it('may have + in the query in place of a space', async () => {
      expect(namesOf(await list('sort=name&labelSelector=team+in+(red)'))).to.deep.equal(['p0', 'p2']);
    });
  });

  describe('limit and continue [compat chunks]', () => {
    const path = namespaced('chunks');

    beforeEach(async () => {
      await server.delete(path);
      for (let i = 0; i < 7; i += 1) await server.create(path, newLetter(`c${i}`, { weight: i }));
    });

    /** Returns all chunks of a list; `between` runs before each further chunk. */
    async function chunks(query: string, between: (chunk: number) => Promise<unknown>): Promise<Answer[]> {
      const answers = [await list(query, path)];
      for (let token = tokenOf(answers[0]); token !== undefined; token = tokenOf(answers.at(-1))) {
        await between(answers.length);
        answers.push(await list(`${query}&continue=${encodeURIComponent(token)}`, path));
      }
      return answers;
    }

    function tokenOf(answer: Answer | undefined): string | undefined {
      return answer?.body.metadata.continue as string | undefined;
    }

    for (const order of ['sort=name,asc', 'sort=spec.weight,desc', 'sort=spec.weight,asc&labelSelector=!gone', '']) {
      it(`return the list at the revision of the first chunk, despite changes between the chunks, with "${order}"`, async () => {
        const expected = (await list(order, path)).body;
        const changes = [
          () => server.create(path, newLetter('c00', { weight: -5 })),
          () => server.delete(`${path}/c6`),
          () => server.patch(`${path}/c3`, { spec: { weight: 50 }, metadata: { labels: { gone: 'x' } } }),
          () => server.delete(`${path}/c0`),
        ];
        const answers = await chunks(`${order}&limit=2`, async (chunk) => changes[chunk]?.());
        expect(answers.map(({ body }) => body.items.length)).to.deep.equal([2, 2, 2, 1]);
        expect(answers.flatMap(({ body }) => body.items)).to.deep.equal(expected.items);
        for (const { body } of answers)
          expect(body.metadata.resourceVersion).to.equal(expected.metadata.resourceVersion);
        expect(answers.map(({ body }) => body.total)).to.deep.equal([7, 7, 7, 7]);
      });
    }

    it('report remainingItemCount only without a selector, and have no continue token in the last chunk', async () => {
      await server.delete(machines);
      for (let i = 0; i < 3; i += 1) await server.create(machines, newMachine(`m${i}`));
      const first = await list('limit=1', machines);
      expect(first.body.metadata.remainingItemCount).to.equal(2);
      const second = await list(`limit=2&continue=${first.body.metadata.continue}`, machines);
      expect(second.body.metadata).to.not.have.any.keys('continue', 'remainingItemCount');
      const selected = await list('limit=1&labelSelector=!x', machines);
      expect(selected.body.metadata).to.have.property('continue');
      expect(selected.body.metadata).to.not.have.property('remainingItemCount');
      expect((await list('limit=3', machines)).body.metadata).to.not.have.property('continue');
      expect((await list('limit=0', machines)).body.items).to.have.length(3);
      await server.delete(machines);
    });

    it('accept another limit for the next chunk', async () => {
      const first = await list('sort=name&limit=1', path);
      const rest = await list(`sort=name&limit=100&continue=${tokenOf(first)}`, path);
      expect([...namesOf(first), ...namesOf(rest)]).to.deep.equal(['c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6']);
    });

    it('accept a token only for the kind and namespace of its list', async () => {
      const token = tokenOf(await list('limit=1', path)) ?? '';
      expectRefusal(await list(`limit=1&continue=${token}`, namespaced('other')), { reason: 'BadRequest' });
      expectRefusal(await list(`limit=1&continue=${token}`, letters), { reason: 'BadRequest' });
    });
  });

  describe('resourceVersion', () => {
    const path = namespaced('revisions');

    it('returns the list at the given revision with resourceVersionMatch=Exact, and the present list with NotOlderThan', async () => {
      await server.create(path, newLetter('one', { weight: 1 }));
      await server.create(path, newLetter('two', { weight: 2 }));
      const past = await list('sort=name', path);
      const revision = past.body.metadata.resourceVersion as string;
      await server.patch(`${path}/one`, { spec: { weight: 9 } });
      await server.delete(`${path}/two`);
      await server.create(path, newLetter('three', { weight: 3 }));
      const present = await list('sort=name', path);

      const exact = `sort=name&resourceVersion=${revision}&resourceVersionMatch=Exact`;
      expect((await list(exact, path)).body).to.deep.equal(past.body);
      const chunk = await list(`${exact}&limit=1`, path);
      expect([namesOf(chunk), chunk.body.metadata.resourceVersion]).to.deep.equal([['one'], revision]);
      const selected = await list(`${exact}&fieldSelector=spec.weight%3D1`, path);
      expect(namesOf(selected)).to.deep.equal(['one']);
      expect(
        namesOf(await list(`sort=name&resourceVersion=${revision}&limit=5`, path)),
        'Kubernetes’ old rule',
      ).to.deep.equal(['one', 'two']);

      for (const query of [
        `resourceVersion=${revision}&resourceVersionMatch=NotOlderThan`,
        'resourceVersion=0',
        `resourceVersion=${revision}`,
        'resourceVersion=0&resourceVersionMatch=NotOlderThan',
      ]) {
        expect((await list(`sort=name&${query}`, path)).body, query).to.deep.equal(present.body);
      }
    });

    it('is accepted in a GET of a single object', async () => {
      const { metadata } = await server.create(path, newLetter('single'));
      const { status, body } = await server.get(`${path}/single?resourceVersion=${metadata.resourceVersion}`);
      expect([status, body.metadata.name]).to.deep.equal([200, 'single']);
    });

    it('is the revision of the newest write to the database, even if that write is to another kind', async () => {
      const { metadata } = await server.create(machines, newMachine('last'));
      expect(await server.revision(persons)).to.equal(metadata.resourceVersion);
      await server.delete(machines);
    });
  });

  describe('namespaces', () => {
    it('restrict a list whose path or field selector names one; any other list has the objects of all namespaces', async () => {
      for (const namespace of ['here', 'there']) {
        for (const name of ['a', 'b'])
          await server.create(namespaced(namespace), newLetter(name, { text: `${namespace} ${name}` }));
      }
      const keys = ({ body }: Answer): string[] =>
        body.items.map(
          ({ metadata }: { metadata: { namespace: string; name: string } }) => `${metadata.namespace}/${metadata.name}`,
        );
      const everywhere = 'sort=name,asc&fieldSelector=metadata.namespace%3D(here,there)';
      expect(keys(await list('sort=name,asc', namespaced('here')))).to.deep.equal(['here/a', 'here/b']);
      expect(keys(await list(everywhere, letters))).to.deep.equal(['here/a', 'there/a', 'here/b', 'there/b']);
      expect(keys(await list('fieldSelector=metadata.namespace%3Dthere&sort=name,desc', letters))).to.deep.equal([
        'there/b',
        'there/a',
      ]);
      expect((await list('', namespaced('nowhere'))).body.total).to.equal(0);
      expect((await list('fieldSelector=metadata.namespace%3Dhere', persons)).body.total).to.equal(0);
      await server.delete(namespaced('here'));
      expect((await list('', namespaced('here'))).body.total).to.equal(0);
      expect((await list('', namespaced('there'))).body.total).to.equal(2);
    });
  });
});
