import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { ChangeFeed } from '../../index/change-feed.ts';
import { createPerson, createPersonCache, personEntry } from '../../index/person.fixture.ts';
import { FlushCycle } from './flush-cycle.ts';
import { jsonLines } from './watch-frames.ts';
import { WatchGroups } from './watch-group.ts';
import type { GroupMember, GroupParts, WatchGroup } from './watch-group.ts';

/** A fake clock that also advances with each write to a watcher. */
class BusyClock extends FakeClock {
  #busyMs = 0;

  spend(ms: number): void {
    this.#busyMs += ms;
  }

  override monotonicMs(): number {
    return super.monotonicMs() + this.#busyMs;
  }
}

describe('WatchGroups', () => {
  const cache = createPersonCache();
  let clock: BusyClock;
  let feed: ChangeFeed;
  let groups: WatchGroups;
  let resource: GroupParts['resource'];
  /** The name of the watcher of each write, in the order of the writes. */
  let sent: string[];
  let costMs: number;
  let revision: number;

  beforeEach(() => {
    clock = new BusyClock();
    feed = new ChangeFeed({ floor: 0, onError: () => undefined });
    groups = new WatchGroups(new FlushCycle(clock));
    resource = { feed };
    sent = [];
    costMs = 0;
    revision = 0;
  });

  const change = (): void => {
    revision += 1;
    const name = `p-${String(revision)}`;
    feed.append({ type: 'ADDED', revision, entry: personEntry(cache, createPerson({ name }), revision) });
  };
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  interface Joined extends GroupMember {
    readonly group: WatchGroup;
    readonly leave: () => void;
    seen: number;
  }

  function join(name: string, key = ''): Joined {
    const member = {
      seen: feed.revision,
      send: () => {
        sent.push(name);
        clock.spend(costMs);
        member.seen = feed.revision;
      },
    };
    const group = groups.join(member, { resource, format: jsonLines, selection: { key } });
    return Object.assign(member, { group, leave: () => group.delete(member) });
  }

  it('puts watchers with the same kind, format and selection in one group, until the last of them leaves', () => {
    const [first, second, other] = [join('a'), join('b'), join('c', 'x')];
    expect(first.group).to.equal(second.group);
    expect(first.group).not.to.equal(other.group);
    first.leave();
    expect(join('d').group).to.equal(second.group);
    other.leave();
    expect(join('e', 'x').group).not.to.equal(other.group);
  });

  it('puts watchers of a kind in another group than the watchers of an earlier kind with the same name', () => {
    const { group } = join('a');
    resource = { feed };
    expect(join('b').group).not.to.equal(group);
  });

  it('writes to a group in several turns of the event loop, first to the watchers that have waited longest', async () => {
    for (const name of 'abcdef') join(name);
    costMs = 1;
    change();
    await turn();
    expect(sent.join('')).to.equal('ab');
    change();
    await turn();
    expect(sent.join('')).to.equal('abcd');
    await turn();
    expect(sent.join('')).to.equal('abcdef');
    // A pass writes once to each watcher of the group. The second change was made after the first pass had written to a
    // and b. So the watchers c to f received both changes in the first pass. The watchers a and b receive the second
    // change in the next pass, which begins after a pause.
    await turn();
    expect(sent.join('')).to.equal('abcdef');
    await clock.advance(6);
    await turn();
    await turn();
    expect(sent.join('')).to.equal('abcdefab');
  });

  it('writes to a watcher of a small group after it has written to each watcher of a large group at most twice', async () => {
    for (const name of 'abcd') join(name);
    join('z', 'x');
    costMs = 2;
    for (let turns = 0; turns < 40; turns += 1) {
      change();
      await turn();
      await clock.advance(20);
    }
    const others = sent.join('').split('z');
    expect(others).to.have.lengthOf.at.least(4);
    // The watchers a to d are one group, and z is in another. Between two writes to z, the group of four makes at most
    // two passes, each of four writes.
    for (const waited of others) expect(waited.length).to.be.at.most(8);
  });

  it('pauses for 10 ms after a pass of writes that took 10 ms, but begins the next pass at once after one that took 50 ms', async () => {
    join('a');
    costMs = 10;
    change();
    await turn();
    change();
    await clock.advance(9);
    await turn();
    expect(sent).to.have.lengthOf(1);
    costMs = 50;
    await clock.advance(1);
    expect(sent).to.have.lengthOf(2);
    change();
    await turn();
    expect(sent).to.have.lengthOf(3);
  });

  it('writes the last change to every watcher, even if watchers join and leave while it writes to the others', async () => {
    let seed = 1;
    const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
    costMs = 0.5;
    let members = Array.from({ length: 8 }, (_, at) => join(String(at)));
    for (let step = 0; step < 3000; step += 1) {
      const action = random(6);
      if (action < 2) change();
      else if (action === 2) members.push(join(String(step)));
      else if (action === 3) members.splice(random(members.length), 1)[0]?.leave();
      else await turn();
      if (step % 50 > 0) continue;
      for (let rest = 0; rest < members.length + 3; rest += 1) {
        await clock.advance(50);
        await turn();
      }
      expect(members.map(({ seen }) => seen).every((seen) => seen === feed.revision)).to.equal(true);
      members = members.slice(0, 40);
    }
  });
});
