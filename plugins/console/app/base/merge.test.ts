import { expect } from 'chai';
import { mergeChanges } from './merge.ts';

describe('merging two changes of an object', () => {
  const base = { spec: { name: 'a', size: 1, tags: ['x'] }, metadata: { labels: { team: 'red' } } };

  it('takes both changes when they are in different fields, and lists the fields that only the other side changed', () => {
    const mine = { ...base, spec: { ...base.spec, size: 2 } };
    const theirs = { ...base, spec: { ...base.spec, name: 'b' }, metadata: { labels: { team: 'red', new: 'yes' } } };
    expect(mergeChanges({ base, mine, theirs })).to.deep.equal({
      value: { spec: { name: 'b', size: 2, tags: ['x'] }, metadata: { labels: { team: 'red', new: 'yes' } } },
      conflicts: [],
      taken: [['spec', 'name'], ['metadata']],
    });
  });

  it('keeps my change where both sides changed the same field, and reports the conflict with all three values', () => {
    const mine = { ...base, spec: { ...base.spec, name: 'mine' } };
    const theirs = { ...base, spec: { ...base.spec, name: 'theirs' } };
    const { value, conflicts } = mergeChanges({ base, mine, theirs });
    expect(value).to.deep.equal(mine);
    expect(conflicts).to.deep.equal([{ path: ['spec', 'name'], base: 'a', mine: 'mine', theirs: 'theirs' }]);
  });

  it('reports no conflict where both sides made the same change', () => {
    const same = { ...base, spec: { ...base.spec, name: 'same' } };
    expect(mergeChanges({ base, mine: same, theirs: same }).conflicts).to.deep.equal([]);
  });

  it('removes a field that one side removed, and reports a conflict when the other side changed it', () => {
    const { metadata: _metadata, ...removed } = base;
    expect(mergeChanges({ base, mine: base, theirs: removed }).value).to.deep.equal(removed);
    const changed = { ...base, metadata: { labels: { team: 'blue' } } };
    expect(mergeChanges({ base, mine: changed, theirs: removed }).conflicts).to.have.length(1);
  });

  it('treats an array as one value', () => {
    const mine = { ...base, spec: { ...base.spec, tags: ['x', 'y'] } };
    const theirs = { ...base, spec: { ...base.spec, tags: ['z'] } };
    expect(mergeChanges({ base, mine, theirs }).conflicts[0]?.path).to.deep.equal(['spec', 'tags']);
  });
});
