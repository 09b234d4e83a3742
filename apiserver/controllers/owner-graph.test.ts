import { expect } from 'chai';
import type { Entry } from '../index/entry.ts';
import type { Resource } from '../registry/kinds/resource.ts';
import { OwnerGraph } from './owner-graph.ts';

const resource = { keyPrefix: '/registry/g/things/', model: { scope: 'Cluster' } } as Resource;

/** Returns an object that is being deleted in the foreground, and blocks the deletion of its owners. */
function going(name: string, ...owners: readonly string[]): Entry {
  return {
    key: name,
    name,
    namespace: undefined,
    uid: name,
    revision: 1,
    bytes: Buffer.alloc(0),
    size: 0,
    values: [],
    owners: owners.map((uid) => ({ uid, blocks: true })),
    deletion: 'Foreground',
  };
}

function graphOf(...entries: readonly Entry[]): OwnerGraph {
  const graph = new OwnerGraph();
  for (const entry of entries) graph.add(resource, entry);
  return graph;
}

describe('OwnerGraph', () => {
  it('does not block the deletion of objects that wait for each other', () => {
    const graph = graphOf(going('a'), going('b', 'a', 'c'), going('c', 'a', 'b'));
    expect(['a', 'b', 'c'].map((uid) => graph.holds(uid))).to.deep.equal([true, false, false]);
    graph.remove(resource, going('b', 'a', 'c'));
    expect(graph.holds('c')).to.equal(false);
    graph.remove(resource, going('c', 'a', 'b'));
    expect(graph.holds('a')).to.equal(false);
  });

  it('blocks the deletion of an object in a cycle of owners until its dependent outside the cycle is gone', () => {
    const held: Entry = { ...going('c', 'a'), deletion: 'Background' };
    const graph = graphOf(going('a', 'b'), going('b', 'a'), held);
    expect(graph.holds('a')).to.equal(true);
    expect(graph.holds('b')).to.equal(false);
  });

  it('makes an object in foreground deletion wait for a dependent that belongs to a cycle of owners', () => {
    const graph = graphOf(going('a'), going('b', 'a', 'c'), going('c', 'b'));
    expect(graph.holds('a')).to.equal(true);
  });

  it('blocks the deletion of an owner if a dependent names the owner twice, and only one of the two references sets blockOwnerDeletion', () => {
    const twice: Entry = {
      ...going('b'),
      owners: [
        { uid: 'a', blocks: true },
        { uid: 'a', blocks: false },
      ],
      deletion: undefined,
    };
    const graph = graphOf(going('a'), twice);
    expect(graph.holds('a')).to.equal(true);
    graph.remove(resource, twice);
    expect(graph.hasDependents('a')).to.equal(false);
  });
});
