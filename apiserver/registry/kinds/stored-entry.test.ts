import { expect } from 'chai';
import { isBroken } from '../../index/broken-entry.ts';
import { createPerson, createPersonCache } from '../../index/person.fixture.ts';
import { keyPrefixOf } from '../../store/object-key.ts';
import type { Row } from '../../store/store.ts';
import { allSteps } from '../../turns/steps.ts';
import { encodeObject } from '../object/object-codec.ts';
import { lenientEntry, lenientEntrySteps, storedEntry, storedEntrySteps } from './stored-entry.ts';
import type { KindReader } from './stored-entry.ts';

const kind: KindReader = { cache: createPersonCache(), convertStored: (stored) => stored };

/** Returns the row of a person with a list of 120 KB. */
function rowOf(spec: object = {}): Row {
  const tags = Array.from({ length: 20_000 }, (_, at) => at.toString(36));
  const person = createPerson({ name: 'ann' }, { tags, ...spec });
  return { key: `${keyPrefixOf(kind.cache.descriptor)}ann`, revision: 7, data: encodeObject(person) };
}

describe('a large stored object', () => {
  it('gives the same entry whether it is read in several steps or in one', () => {
    const row = rowOf();
    const steps = storedEntrySteps(kind, row);
    let count = 1;
    while (steps.next().done !== true) count += 1;
    expect(count).to.be.above(5);
    const [inSteps, atOnce] = [allSteps(storedEntrySteps(kind, row)), storedEntry(kind, row)];
    expect(inSteps).to.deep.include({ key: 'ann', revision: 7, values: atOnce.values });
    expect(inSteps.bytes.equals(atOnce.bytes)).to.equal(true);
  });

  it('is a broken entry in strict and in lenient reads when it is not JSON or has the name of another object', () => {
    const { key, revision, data } = rowOf();
    const wrong: readonly Row[] = [
      { key, revision, data: data.subarray(0, data.length - 3) },
      { key: `${key}a`, revision, data },
    ];
    for (const row of wrong)
      for (const entry of [allSteps(storedEntrySteps(kind, row)), allSteps(lenientEntrySteps(kind, row))]) {
        expect(isBroken(entry)).to.equal(true);
        expect(entry).to.have.property('problem', (storedEntry(kind, row) as { problem?: string }).problem);
      }
  });

  it('when an index function throws, is refused by a strict read, and accepted without index values by a lenient read', () => {
    const row = rowOf({ age: 1.5 });
    expect(() => allSteps(storedEntrySteps(kind, row))).to.throw('1.5 is no age');
    expect(allSteps(lenientEntrySteps(kind, row)).values).to.deep.equal(lenientEntry(kind, row).values);
  });
});
