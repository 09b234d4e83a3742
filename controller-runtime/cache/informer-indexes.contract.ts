import { expect } from 'chai';
import type { Person } from '../client/example-person.fixture.ts';
import { eventually } from '../testing/eventually.ts';
import type { FollowedCase } from './followed-case.fixture.ts';

const tagsOf = ({ spec }: Person): readonly string[] => spec.tags ?? [];

/** The tests of the indexes of an informer. */
export function describeIndexes(followed: FollowedCase): void {
  describe('its indexes', () => {
    const found = (value: string): readonly string[] =>
      followed.informer.byIndex('tags', value).map(({ spec }) => spec.name);

    it('byIndex finds an object by each of its index values while objects are added, changed and deleted', async () => {
      const { informer, one } = followed;
      informer.addIndex('tags', tagsOf);
      await one.create('a', { tags: ['red', 'blue'] });
      await one.create('b', { tags: ['blue', 'blue'] });
      await one.create('c');
      await followed.run();
      expect(found('blue')).to.have.members(['a', 'b']);
      expect(found('red')).to.deep.equal(['a']);
      await followed.patch('a', { spec: { tags: ['green'] } });
      await eventually(() => found('green').length === 1);
      expect(found('red')).to.deep.equal([]);
      expect(found('blue')).to.deep.equal(['b']);
      await followed.delete('b');
      await eventually(() => found('blue').length === 0);
      await one.create('d', { tags: ['blue'] });
      await eventually(() => found('blue').includes('d'));
    });

    it('an index that is added to a running informer contains the existing objects', async () => {
      await followed.one.create('a', { tags: ['red'] });
      await followed.run();
      followed.informer.addIndex('tags', tagsOf);
      expect(found('red')).to.deep.equal(['a']);
    });

    it('the indexes contain a change before the handlers of the informer receive the change', async () => {
      const { informer, one } = followed;
      informer.addIndex('tags', tagsOf);
      const seen: number[] = [];
      informer.addHandler({ onAdd: () => void seen.push(found('red').length) });
      await followed.run();
      await one.create('a', { tags: ['red'] });
      await eventually(() => seen.length === 1);
      expect(seen).to.deep.equal([1]);
    });

    it('an index omits an object for which the index function throws', async () => {
      const { informer, one } = followed;
      informer.addIndex('tags', ({ spec }) => (spec.tags as readonly string[]).map((tag) => tag.toUpperCase()));
      await one.create('a');
      await one.create('b', { tags: ['red'] });
      await followed.run();
      expect(found('RED')).to.deep.equal(['b']);
      expect(informer.list()).to.have.length(2);
    });

    it('another informer of the same kind can have a different index of the same name', async () => {
      const { informer, one } = followed;
      const other = await followed.follow({});
      informer.addIndex('tags', tagsOf);
      other.addIndex('tags', ({ spec }) => [spec.name]);
      await one.create('a', { tags: ['red'] });
      await followed.run();
      await eventually(() => other.list().length === 1);
      expect(found('red')).to.deep.equal(['a']);
      expect(found('a')).to.deep.equal([]);
      expect(other.byIndex('tags', 'a')).to.have.length(1);
    });

    it('addIndex refuses a different function under an existing name', () => {
      const { informer } = followed;
      expect(() => informer.byIndex('tags', 'red')).to.throw(RangeError, /no index has the name "tags"/);
      informer.addIndex('tags', tagsOf);
      informer.addIndex('tags', tagsOf);
      expect(() => informer.addIndex('tags', () => [])).to.throw(RangeError, /another index has the name "tags"/);
    });
  });
}
