import { expect } from 'chai';
import { createEntry } from '../index/create-entry.ts';
import type { Entry } from '../index/entry.ts';
import { ObjectReader } from './object-reader.ts';

/** Returns the entry of an object with a list of numbers. */
function entryOf(length: number): Entry {
  const object = { apiVersion: 'v1', kind: 'Thing', metadata: { name: 'a' }, list: Array.from({ length }, () => 1) };
  return createEntry(object, { bytes: Buffer.from(JSON.stringify(object)), revision: 1, values: [] });
}

describe('a read that does not cache the object', () => {
  for (const { length, least, most } of [
    { length: 10_000, least: 0, most: 0 },
    // An object with 200,000 numbers has 400 KB, and each step reads 16 KB.
    { length: 200_000, least: 20, most: 40 },
  ])
    it(`pauses ${least} to ${most} times for an object of ${2 * length} bytes`, () => {
      const reader = new ObjectReader();
      const entry = entryOf(length);
      const steps = reader.readOnce(entry);
      let pauses = 0;
      let step = steps.next();
      for (; step.done !== true; step = steps.next()) pauses += 1;
      expect(pauses).to.be.within(least, most);
      expect(step.value).to.deep.equal(JSON.parse(entry.bytes.toString()));
      expect(step.value).to.be.frozen.and.to.have.property('list').that.is.frozen;
      expect(reader.parsed(entry)).to.equal(undefined);
    });

  it('returns the object from the cache if an earlier read has cached it', () => {
    const reader = new ObjectReader();
    const entry = entryOf(200_000);
    const kept = reader.read(entry);
    expect(reader.readOnce(entry).next()).to.deep.include({ done: true, value: kept });
  });
});
