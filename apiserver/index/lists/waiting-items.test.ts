import { expect } from 'chai';
import fc from 'fast-check';
import { type Item, WaitingItems } from './waiting-items.ts';

function byValue(items: Item[]): void {
  items.sort((a, b) => (a.value === b.value ? a.row - b.row : a.value < b.value ? -1 : 1));
}

function sorted(items: readonly Item[]): Item[] {
  const copy = [...items];
  byValue(copy);
  return copy;
}

/** Returns items whose values are not in order. */
function itemsOf(count: number): Item[] {
  return Array.from({ length: count }, (_, row) => ({ value: `v${(row * 7919) % 1009}`, row }));
}

describe('WaitingItems', () => {
  it('add returns at most 32 items, sorted by value, and at most 512 items wait after each call', () => {
    const waiting = new WaitingItems(byValue);
    const all = itemsOf(2048);
    const returned = all.map((item) => {
      const taken = waiting.add(item);
      expect(taken).to.deep.equal(sorted(taken));
      expect(taken.length).to.be.at.most(32);
      expect(waiting.size).to.be.at.most(512);
      return taken;
    });
    const rest = waiting.takeAll();
    expect(rest).to.deep.equal(sorted(rest));
    expect(sorted([...returned.flat(), ...rest])).to.deep.equal(sorted(all));
  });

  it('while 512 items are added, the calls of add return the first 256 items; the results of all calls, one after the other, are sorted by value', () => {
    const waiting = new WaitingItems(byValue);
    const returned = itemsOf(512).map((item) => waiting.add(item));
    expect(returned.flat()).to.deep.equal(sorted(itemsOf(256)));
  });

  it('contains each added item exactly once, until remove() removes the item, or add() or takeAll() returns it', () => {
    const step = fc.oneof(
      { weight: 8, arbitrary: fc.record({ add: fc.integer({ min: 1, max: 200 }) }) },
      { weight: 3, arbitrary: fc.record({ remove: fc.nat() }) },
      { weight: 1, arbitrary: fc.record({ takeAll: fc.constant(true) }) },
    );
    const check = (steps: readonly object[]): void => {
      const waiting = new WaitingItems(byValue);
      const model = new Set<Item>();
      let rows = 0;
      for (const each of steps as { add?: number; remove?: number; takeAll?: true }[]) {
        for (let left = each.add ?? 0; left > 0; left -= 1) {
          const item = { value: `v${(rows * 31) % 97}`, row: rows++ };
          model.add(item);
          for (const taken of waiting.add(item)) expect(model.delete(taken)).to.equal(true);
        }
        const removed = each.remove === undefined ? undefined : [...model][each.remove % Math.max(1, model.size)];
        if (removed !== undefined) {
          expect(waiting.remove(removed.value, removed.row + 0.5)).to.equal(false);
          expect(waiting.remove(removed.value, removed.row)).to.equal(model.delete(removed));
        }
        if (each.takeAll) {
          expect(waiting.takeAll()).to.deep.equal(sorted([...model]));
          model.clear();
        }
        expect(waiting.size).to.equal(model.size);
      }
    };
    fc.assert(fc.property(fc.array(step, { maxLength: 40 }), check), { numRuns: 50 });
  });
});
