import { seededRandom } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import type { FeedChange } from './feed-change.ts';
import { ChangeWindow } from './change-window.ts';
import { createEntry, footprintOf } from './create-entry.ts';
import type { Entry } from './entry.ts';
import { Slabs } from './slabs.ts';
import { StoredEntry } from './stored-entry.ts';

/** A window, and the changes that it must contain. */
class Model {
  readonly window = new ChangeWindow();
  changes: FeedChange[] = [];
  /** The name of the object that was written at each revision. */
  readonly #names = new Map<number, string>();
  readonly #slabs = new Slabs();
  readonly #present = new Map<string, Entry>();
  readonly #draw = seededRandom(11);
  #revision = 100;

  push(count: number): void {
    for (let left = count; left > 0; left -= 1) {
      this.#revision += 1 + this.#random(3);
      const name = `n${this.#random(60)}`;
      const change = this.#changeOf(name, this.#present.get(name));
      this.changes.push(change);
      this.window.push(change);
    }
  }

  drop(count: number): void {
    const gone = this.changes.splice(0, count);
    const freed = gone.flatMap(({ type, entry, previous }) =>
      type === 'DELETED' ? [previous, entry] : previous === undefined ? [] : [previous],
    );
    const expected = freed.reduce((sum, entry) => sum + footprintOf(entry), 0);
    expect(this.window.drop(gone.length)).to.equal(expected);
  }

  /** Returns a random whole number below `most`. */
  #random(most: number): number {
    return Math.floor(this.#draw() * most);
  }

  /** Moves the record of an entry to another position. */
  move(entry: Entry): void {
    if (!(entry instanceof StoredEntry)) return;
    const { block, at, start, footprint } = entry;
    const from = start & ~3;
    const place = this.#slabs.copy(block, from, start - from + footprint);
    entry.moveTo(place.block, place.at + at - from);
  }

  expectEqual(): void {
    const { window, changes } = this;
    expect(window.length).to.equal(changes.length);
    expect(window.bytes).to.equal(changes.reduce((sum, { entry }) => sum + entry.size, 0));
    const texts = changes.map(described);
    expect(textOf(window.from(0))).to.equal(texts.join('\n'));
    const states = [...window.from(0)].flatMap(({ previous, entry }) =>
      previous === undefined ? [entry] : [previous, entry],
    );
    const names = states.map(({ name, revision }) => `${name} ${revision}`);
    expect(names.join('\n')).to.equal(
      states.map(({ revision }) => `${this.#names.get(revision)} ${revision}`).join('\n'),
    );
    for (const at of [0, 1, 500, 511, 512, 700, changes.length - 1].filter(
      (each) => each >= 0 && each < changes.length,
    )) {
      const { revision, entry } = changes[at] as FeedChange;
      expect(window.revisionAt(at)).to.equal(revision);
      expect(window.firstAfter(revision)).to.equal(at + 1);
      expect(window.firstAfter(revision - 1)).to.equal(at);
      expect(described(window.at(at))).to.equal(texts[at]);
      expect(window.isOf(at, entry.key)).to.equal(true);
      expect(window.isOf(at, `${entry.key}0`)).to.equal(false);
      const rest = [...window.from(at)];
      expect(textOf(rest.slice(0, 20))).to.equal(texts.slice(at, at + 20).join('\n'));
      const revisions = changes.slice(at).map((change) => change.revision);
      expect(rest.map((change) => change.revision).join()).to.equal(revisions.join());
    }
  }

  #changeOf(name: string, previous: Entry | undefined): FeedChange {
    const revision = this.#revision;
    const entry = this.#entry(name);
    this.#names.set(revision, name);
    const isDeleted = previous !== undefined && this.#random(4) === 0;
    if (isDeleted) this.#present.delete(name);
    else this.#present.set(name, entry);
    if (previous === undefined) return { type: 'ADDED', revision, entry };
    return { type: isDeleted ? 'DELETED' : 'MODIFIED', revision, entry, previous };
  }

  #entry(name: string): Entry {
    const bytes = Buffer.from(`{"name":"${name}","revision":${this.#revision}}`);
    const parts = { revision: this.#revision, bytes, values: [name] };
    const entry = createEntry({ metadata: { name } }, { ...parts, slabs: this.#slabs });
    if (this.#random(50) > 0) return entry;
    // One entry in 50 has the form of an object that cannot be read: it has no record in a block.
    const { key, values, size } = entry;
    const noRecord = { namespace: undefined, uid: undefined, owners: undefined, deletion: undefined };
    return { ...noRecord, key, name, revision: this.#revision, bytes, values, size };
  }
}

function described({ type, revision, entry, previous }: FeedChange): string {
  return `${type} ${revision} ${entry.key} ${entry.bytes.toString()} ${previous?.bytes.toString() ?? ''}`;
}

/** Returns one text, because a comparison of thousands of list items takes as long as the rest of a test. */
function textOf(changes: Iterable<FeedChange>): string {
  return Array.from(changes, described).join('\n');
}

describe('ChangeWindow', () => {
  it('has the changes that were pushed and not dropped, however many', () => {
    const model = new Model();
    for (const [pushed, dropped] of [
      [3, 0],
      [1600, 0],
      [700, 300],
      [10, 900],
      [2000, 1],
      [5, 3000],
      [5, 1],
      [1537, 0],
      [0, 5000],
      [4000, 511],
    ] as const) {
      model.push(pushed);
      model.expectEqual();
      model.drop(Math.min(dropped, model.changes.length));
      model.expectEqual();
    }
    model.window.clear();
    expect([model.window.length, model.window.bytes]).to.deep.equal([0, 0]);
  });

  it('returns the same instances each time for the latest 1,024 changes, so that readers share what they derive from a change', () => {
    const model = new Model();
    model.push(5000);
    expect(model.window.from(5000 - 1024)).to.have.ordered.members(model.changes.slice(-1024));
  });

  it('formerStates() returns each replaced state, and the last state of each deleted object, once', () => {
    const model = new Model();
    model.push(3000);
    model.drop(200);
    const former = [...model.window.formerStates()].map(({ revision }) => revision);
    const expected = model.changes.flatMap(({ type, revision, previous }) => [
      ...(previous === undefined ? [] : [previous.revision]),
      ...(type === 'DELETED' ? [revision] : []),
    ]);
    expect(former).to.deep.equal(expected);
  });

  it('reads each record at its new position after the caller of states() has moved the record, even if changes are added and dropped', () => {
    const model = new Model();
    model.push(4000);
    for (let round = 0; round < 3; round += 1) {
      let seen = 0;
      for (const entry of model.window.states()) {
        model.move(entry);
        seen += 1;
        if (seen % 100 === 0) model.push(30);
        if (seen % 700 === 0) model.drop(600);
      }
      model.expectEqual();
      const length = model.window.length;
      model.drop(length - 10);
      model.push(2000);
      model.expectEqual();
    }
  });

  it('refers only to the new position of a record after the caller of states() has moved the record', () => {
    const model = new Model();
    model.push(4000);
    const former = new Map<unknown, Set<number>>();
    for (const entry of model.window.states()) {
      if (!(entry instanceof StoredEntry)) continue;
      const places = former.get(entry.block) ?? new Set();
      former.set(entry.block, places.add(entry.at));
      model.move(entry);
    }
    const isFormer = (entry: Entry): boolean =>
      entry instanceof StoredEntry && former.get(entry.block)?.has(entry.at) === true;
    expect([...model.window.states()].filter(isFormer)).to.deep.equal([]);
    model.expectEqual();
  });
});
