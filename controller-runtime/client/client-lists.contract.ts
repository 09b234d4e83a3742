import { expect } from 'chai';
import type { ListOptions } from './client.ts';
import { reasonOfRejection } from './contract-subject.fixture.ts';
import type { ContractCase, ContractSubject } from './contract-subject.fixture.ts';
import { Person } from './example-person.fixture.ts';

/** The tests of `list`: selectors, order, pages (`page` and `size`), and chunks (`limit` and `continue`). */
export function describeLists(subject: ContractSubject): void {
  const namesIn = async (one: ContractCase, options: ListOptions): Promise<readonly string[]> => {
    const list = await subject.client.list(Person, { labelSelector: one.selector, ...options });
    return list.items.map(({ spec }) => spec.name);
  };

  const createAged = async (ages: Readonly<Record<string, number>>): Promise<ContractCase> => {
    const one = subject.newCase();
    for (const [name, age] of Object.entries(ages)) await one.create(name, { age });
    return one;
  };

  describe('list', () => {
    it('returns all matches in one frozen list, whose revision is not lower than the revision of any match', async () => {
      const one = subject.newCase();
      const [, last] = await one.createAll('a', 'b');
      const list = await subject.client.list(Person, { labelSelector: one.selector });
      expect(list).to.include({
        kind: 'PersonList',
        page: 1,
        size: 0,
        total: 2,
        totalPages: 1,
        first: true,
        last: true,
      });
      expect(list).to.include({ hasNext: false, hasPrevious: false });
      expect(list.items).to.deep.include(last);
      expect(Number(list.metadata.resourceVersion)).to.be.at.least(Number(last?.metadata.resourceVersion));
      expect(() => Object.assign(list.items[0]?.spec ?? {}, { name: 'x' })).to.throw(TypeError);
    });

    it('contains a write that was acknowledged before the list started', async () => {
      const one = subject.newCase();
      for (const name of ['a', 'b', 'c']) {
        await one.create(name);
        expect(await namesIn(one, {})).to.include(name);
      }
    });

    it('selects by indexed fields', async () => {
      const one = await createAged({ ann: 3, bob: 10, cat: 9 });
      const matches: readonly (readonly [string, readonly string[]])[] = [
        ['spec.age=10', ['bob']],
        ['spec.age!=10', ['ann', 'cat']],
        ['spec.name=(ann,cat)', ['ann', 'cat']],
        [`spec.age=9,metadata.name=${one.name('cat')}`, ['cat']],
      ];
      for (const [fieldSelector, names] of matches) {
        expect(await namesIn(one, { fieldSelector }), fieldSelector).to.have.members(names);
      }
    });

    it('sorts by indexed fields; numbers sort by their values, and objects with equal values by name', async () => {
      const one = await createAged({ dan: 9, ann: 3, bob: 10, cat: 9 });
      expect(await namesIn(one, { sort: 'spec.age,asc' })).to.deep.equal(['ann', 'cat', 'dan', 'bob']);
      expect(await namesIn(one, { sort: ['spec.age,desc', 'spec.name,desc'] })).to.deep.equal([
        'bob',
        'dan',
        'cat',
        'ann',
      ]);
    });

    it('returns the requested page, with the total numbers of objects and pages', async () => {
      const one = await createAged({ a: 1, b: 2, c: 3, d: 4, e: 5 });
      const page = await subject.client.list(Person, {
        labelSelector: one.selector,
        sort: 'spec.age,asc',
        page: 2,
        size: 2,
      });
      expect(page.items.map(({ spec }) => spec.name)).to.deep.equal(['c', 'd']);
      expect(page).to.include({ page: 2, size: 2, total: 5, totalPages: 3, hasNext: true, hasPrevious: true });
      const beyond = await subject.client.list(Person, { labelSelector: one.selector, page: 9, size: 2 });
      expect(beyond.items).to.deep.equal([]);
      expect(beyond).to.include({ total: 5, hasNext: false });
    });

    it('returns later chunks as of the revision of the first chunk', async () => {
      const { client } = subject;
      const one = await createAged({ a: 1, b: 2, c: 3 });
      const chunk = { labelSelector: one.selector, limit: 2 };
      const first = await client.list(Person, chunk);
      await client.patch(Person, one.name('a'), { type: 'merge', patch: { spec: { age: 100 } } });
      await client.delete(Person, one.name('b'));
      await one.create('d');
      const second = await client.list(Person, { ...chunk, continue: first.metadata.continue ?? '' });
      expect(first.items).to.have.length(2);
      expect(second.metadata.resourceVersion).to.equal(first.metadata.resourceVersion);
      expect(second.metadata.continue ?? '').to.equal('');
      const ages = [...first.items, ...second.items].map(({ spec }) => `${spec.name} ${spec.age}`);
      expect(ages).to.have.members(['a 1', 'b 2', 'c 3']);
    });

    it('rejects malformed and unsupported options with BadRequest', async () => {
      const refused: readonly ListOptions[] = [
        { labelSelector: 'a in (' },
        { fieldSelector: 'spec.tags=x' },
        { sort: 'spec.tags,asc' },
        { page: 0, size: 2 },
        { page: 1, size: 2, limit: 2 },
        { limit: 2, continue: 'no token' },
      ];
      for (const options of refused) {
        expect(await reasonOfRejection(subject.client.list(Person, options)), JSON.stringify(options)).to.equal(
          'BadRequest',
        );
      }
    });
  });
}
