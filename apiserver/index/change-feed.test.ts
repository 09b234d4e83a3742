import { reasonOf } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import type { FeedChange } from './feed-change.ts';
import { ChangeFeed } from './change-feed.ts';
import { footprintOf } from './create-entry.ts';
import type { StoredEntry } from './stored-entry.ts';
import { oneStepPerTurn } from '../turns/one-step-per-turn.test-support.ts';
import { createPerson, createPersonCache, personEntry } from './person.fixture.ts';

const cache = createPersonCache();

function added(revision: number): FeedChange {
  return { type: 'ADDED', revision, entry: personEntry(cache, createPerson({ name: `p${revision}` }), revision) };
}

function createFeed(errors: unknown[] = []): ChangeFeed {
  return new ChangeFeed({ floor: 10, onError: (error) => errors.push(error) });
}

const revisions = (changes: Iterable<FeedChange>): number[] => Array.from(changes, (change) => change.revision);

describe('ChangeFeed', () => {
  oneStepPerTurn();

  it('returns the changes after a revision, also when revisions are missing between them', () => {
    const feed = createFeed();
    for (const revision of [12, 15, 20]) feed.append(added(revision));
    expect(revisions(feed.since(10))).to.deep.equal([12, 15, 20]);
    expect(revisions(feed.since(12))).to.deep.equal([15, 20]);
    expect(revisions(feed.since(13))).to.deep.equal([15, 20]);
    expect(revisions(feed.since(20))).to.deep.equal([]);
    expect(revisions(feed.since(99))).to.deep.equal([]);
    expect(feed.revision).to.equal(20);
  });

  it('returns changes lazily, so that the caller also gets changes that are appended meanwhile', () => {
    const feed = createFeed();
    for (const revision of [12, 15]) feed.append(added(revision));
    const later = feed.since(10);
    expect(later.next().value).to.include({ revision: 12 });
    feed.append(added(20));
    expect(revisions(later)).to.deep.equal([15, 20]);
  });

  it('throws Expired for a revision when the changes right after it were dropped', () => {
    const feed = createFeed();
    for (const revision of [12, 15, 20]) feed.append(added(revision));
    feed.trim(15);
    expect(revisions(feed.since(15))).to.deep.equal([20]);
    expect(feed.floor).to.equal(15);
    expect(() => feed.since(14))
      .to.throw('too old resource version: 14 (15)')
      .that.satisfies((error: unknown) => reasonOf(error) === 'Expired');
    expect(() => createFeed().since(9)).to.throw('too old resource version: 9 (10)');
  });

  it('formerStates iterates over each former state in the window once; trim returns the number of bytes that it frees', () => {
    const feed = createFeed();
    const states = [11, 12, 13, 14].map((revision) => personEntry(cache, createPerson({ name: 'ann' }), revision));
    const [first, second, third, gone] = states as [StoredEntry, StoredEntry, StoredEntry, StoredEntry];
    feed.append({ type: 'ADDED', revision: 11, entry: first });
    feed.append({ type: 'MODIFIED', revision: 12, entry: second, previous: first });
    feed.append({ type: 'MODIFIED', revision: 13, entry: third, previous: second });
    expect([...feed.formerStates()]).to.deep.equal([first, second]);
    expect(feed.trim(12)).to.equal(footprintOf(first));
    feed.append({ type: 'DELETED', revision: 14, entry: gone, previous: third });
    expect([...feed.formerStates()]).to.deep.equal([second, third, gone]);
    expect(feed.trim(14)).to.equal(footprintOf(second) + footprintOf(third) + footprintOf(gone));
    expect([...feed.formerStates()]).to.deep.equal([]);
  });

  it('lets a reader that has seen the last change continue after any number of dropped changes', () => {
    const feed = createFeed();
    for (const revision of [12, 15]) feed.append(added(revision));
    feed.trim(500);
    expect(revisions(feed.since(15))).to.deep.equal([]);
    feed.append(added(501));
    expect(revisions(feed.since(15))).to.deep.equal([501]);
    expect(() => feed.since(14)).to.throw('too old resource version: 14 (15)');
  });

  it('has the right changes and number of bytes after any appends and trims', () => {
    const feed = createFeed();
    let expected: FeedChange[] = [];
    for (let revision = 11; revision < 1011; revision++) {
      const change = added(revision);
      feed.append(change);
      expected.push(change);
      if (revision % 7 !== 0) continue;
      feed.trim(revision - 20);
      expected = expected.filter((one) => one.revision > revision - 20);
    }
    expect(revisions(feed.since(feed.floor))).to.deep.equal(revisions(expected));
    expect(feed.length).to.equal(expected.length);
    expect(feed.bytes).to.equal(expected.reduce((sum, change) => sum + change.entry.bytes.length, 0));
    feed.trim(5000);
    expect([feed.length, feed.bytes, feed.revision]).to.deep.equal([0, 0, 1010]);
  });

  it('refuses a change that is not later than the last one', () => {
    const feed = createFeed();
    feed.append(added(11));
    expect(() => feed.append(added(11))).to.throw(RangeError);
    expect(() => feed.append(added(5))).to.throw(RangeError);
  });

  it('calls subscribers in the order in which they subscribed, until they unsubscribe', () => {
    const feed = createFeed();
    const seen: string[] = [];
    const unsubscribe = feed.subscribe((change) => seen.push(`first ${change.revision}`));
    feed.subscribe((change) => seen.push(`second ${change.revision}`));
    feed.append(added(11));
    unsubscribe();
    feed.append(added(12));
    expect(seen).to.deep.equal(['first 11', 'second 11', 'second 12']);
  });

  it('reports a listener that throws, and continues to call it and the other listeners', () => {
    const errors: unknown[] = [];
    const feed = createFeed(errors);
    const seen: number[] = [];
    feed.subscribe((change) => {
      throw new Error(`at ${change.revision}`);
    });
    feed.subscribe((change) => seen.push(change.revision));
    feed.append(added(11));
    feed.append(added(12));
    expect(seen).to.deep.equal([11, 12]);
    expect(errors.map(String)).to.deep.equal(['Error: at 11', 'Error: at 12']);
  });

  it('calls all listeners with the changes in the same order, even if a listener appends a change', () => {
    const feed = createFeed();
    const late: number[] = [];
    const seen: number[] = [];
    feed.subscribe((change) => {
      if (change.revision !== 11) return;
      feed.append(added(12));
      late.push(...revisions(feed.since(10)));
      feed.subscribe((next) => late.push(next.revision));
    });
    feed.subscribe((change) => seen.push(change.revision));
    feed.append(added(11));
    feed.append(added(13));
    expect(seen).to.deep.equal([11, 12, 13]);
    expect(late).to.deep.equal([11, 12, 13]);
  });

  it('`leap` delivers 1,000 differences in several turns of the event loop, before a change that is appended meanwhile', async () => {
    const feed = createFeed();
    const seen: number[] = [];
    let most = 0;
    let seenBefore = 0;
    feed.subscribe(({ revision }) => seen.push(revision));
    const differences = Array.from({ length: 1000 }, (_, at) => added(1000 + at));
    const told = feed.leap(5000, differences);
    feed.append(added(5001));
    let isOver = false;
    const lookAtTurn = (): void => {
      most = Math.max(most, seen.length - seenBefore);
      seenBefore = seen.length;
      if (!isOver) setImmediate(lookAtTurn);
    };
    lookAtTurn();
    await told;
    isOver = true;
    expect(seen).to.deep.equal([...revisions(differences), 5001]);
    expect(most).to.be.at.most(200);
    const late: number[] = [];
    feed.subscribe(({ revision }) => late.push(revision));
    feed.append(added(5002));
    expect([seen.at(-1), ...late]).to.deep.equal([5002, 5002]);
    expect(feed.floor).to.equal(5000);
  });
});
