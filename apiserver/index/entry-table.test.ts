import { seededRandom } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import fc from 'fast-check';
import { EntryTable, KeyPlaces } from './entry-table.ts';
import { createEntry } from './create-entry.ts';
import type { StoredEntry } from './stored-entry.ts';
import { Slabs } from './slabs.ts';

function entryOf(slabs: Slabs, name: string, revision: number): StoredEntry {
  const bytes = slabs.allocate(20 + (revision % 50)).fill(revision % 256);
  return createEntry({ metadata: { name } }, { bytes, revision, values: [name], slabs });
}

describe('EntryTable', () => {
  it('has the same content as a Map after any additions, replacements and removals', () => {
    const [slabs, table, model, rows] = [new Slabs(), new EntryTable(), new Map<string, StoredEntry>(), new Map()];
    const random = seededRandom(3);
    for (let revision = 1; revision <= 30_000; revision += 1) {
      // A removal becomes more probable with each revision, so the table first grows and later shrinks.
      const name = `n${Math.floor(random() * 9000)}`;
      const row = table.find(name);
      if (row !== (rows.get(name) ?? -1)) expect.fail(`${name} is in row ${row}, not ${rows.get(name)}`);
      if (row >= 0 && random() < revision / 40_000) {
        table.remove(row);
        model.delete(name);
        rows.delete(name);
        continue;
      }
      const entry = entryOf(slabs, name, revision);
      model.set(name, entry);
      if (row >= 0) table.replace(row, entry);
      else rows.set(name, table.add(entry));
    }
    expect(table.size).to.equal(model.size);
    const found = [...table.entries()].map(({ key, revision }) => `${key} ${revision}`);
    expect(found.sort()).to.deep.equal([...model.values()].map(({ key, revision }) => `${key} ${revision}`).sort());
    const places = [...model].filter(([name, { block, at }]) => {
      const entry = table.entry(table.find(name));
      return entry.block !== block || entry.at !== at || entry.key !== name;
    });
    expect(
      places.map(([name]) => name),
      'entries with another place',
    ).to.deep.equal([]);
  });

  it('if the kind is small, entry() returns the object that add() received; later writes do not change a result of placesOf()', () => {
    const [slabs, table] = [new Slabs(), new EntryTable()];
    const first = entryOf(slabs, 'a', 1);
    const row = table.add(first);
    table.add(entryOf(slabs, 'b', 2));
    const places = table.placesOf(table.rows());
    expect(table.entry(row)).to.equal(first);
    table.replace(row, entryOf(slabs, 'a', 3));
    table.remove(table.find('b'));
    expect([...places].map(({ key, revision }) => `${key} ${revision}`)).to.deep.equal(['a 1', 'b 2']);
    expect([...table.entries()].map(({ revision }) => revision)).to.deep.equal([3]);
  });
});

describe('KeyPlaces', () => {
  it('finds each row after any order of additions and removals, also when hashes collide', () => {
    const step = fc.record({ key: fc.nat({ max: 60 }), isAdded: fc.boolean() });
    const check = (steps: readonly { readonly key: number; readonly isAdded: boolean }[]): void => {
      // All keys share three hashes. Two of these belong to neighbouring positions at the end of a table.
      const hash = (row: number): number => [0x7, 0x3ffffff, 0x7, 0x3fffffe][row % 4] ?? 0;
      const places = new KeyPlaces();
      const hashes = Int32Array.from({ length: 61 }, (_, row) => hash(row));
      const present = new Set<number>();
      for (const { key, isAdded } of steps) {
        if (isAdded === present.has(key)) continue;
        if (isAdded) places.add(key, hashes);
        else places.remove(key, hashes);
        if (isAdded) present.add(key);
        else present.delete(key);
        for (let each = 0; each <= 60; each += 1)
          expect(places.find(hash(each), hashes, (row) => row === each)).to.equal(present.has(each) ? each : -1);
      }
    };
    fc.assert(fc.property(fc.array(step, { maxLength: 80 }), check), { numRuns: 60 });
  });
});
