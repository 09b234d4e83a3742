import { expect } from 'chai';
import { array, assert, integer, option, property, record, string, tuple, uniqueArray } from 'fast-check';
import { createPerson, createPersonCache, personEntry } from '../../index/person.fixture.ts';
import { entryWith } from '../../index/create-entry.ts';
import type { Entry } from '../../index/entry.ts';
import type { StoredEntry } from '../../index/stored-entry.ts';
import { Slabs } from '../../index/slabs.ts';
import { characters } from '../../base/characters.test-support.ts';
import { inBounds } from '../../base/in-bounds.ts';
import { KeptPart, maxPartEntries, PartPacker, UnreadablePart } from './kept-part.ts';

const text = string({ unit: characters, maxLength: 12 });
const person = record({
  gap: integer({ min: 1, max: 3 }),
  name: string({ minLength: 1, maxLength: 6 }),
  namespace: option(string({ minLength: 1, maxLength: 4 }), { nil: undefined }),
  owners: array(tuple(text, integer({ min: 0, max: 1 })), { maxLength: 2 }),
  labels: uniqueArray(string({ minLength: 1, maxLength: 3 }), { maxLength: 3 }),
  spec: record({ name: text, tags: uniqueArray(text, { maxLength: 4 }), slug: text }, { requiredKeys: [] }),
});

function packed(
  entries: readonly StoredEntry[],
  fingerprint = 'f',
): { readonly last: number; readonly data: Uint8Array } {
  const packer = new PartPacker(fingerprint);
  for (const entry of entries) packer.add(entry);
  return packer.pack();
}

/**
 * Finds in `part`, a packed group of entries, the entry that has the revision of the given entry. The record and the
 * bytes of the returned entry are in new blocks.
 */
function unpacked(part: KeptPart, { revision, bytes }: Entry): Entry {
  return part.entryAt(inBounds(part.find(revision)), bytes, new Slabs());
}

describe('KeptPart', () => {
  it('has for each entry the values that are computed from its object', () => {
    assert(
      property(array(person, { minLength: 1, maxLength: 8 }), (persons) => {
        const cache = createPersonCache('Namespaced');
        let revision = 0;
        const entries = persons.map(({ gap, name, namespace, owners, labels, spec }) => {
          const metadata = {
            name,
            ...(namespace !== undefined && { namespace }),
            labels: Object.fromEntries(labels.map((label) => [label, 'x'])),
            ownerReferences: owners.map(([uid, blocks]) => ({
              apiVersion: 'v1',
              kind: 'A',
              name: 'a',
              uid,
              ...(blocks === 1 && { blockOwnerDeletion: true }),
            })),
          };
          return personEntry(
            cache,
            createPerson(metadata, { ...spec, tags: [...(spec.tags ?? [])] }),
            (revision += gap),
          );
        });
        const { last, data } = packed(entries);
        const part = new KeptPart(data);
        expect(last).to.equal(revision);
        expect(part.size).to.equal(entries.length);
        expect(part.fingerprint).to.equal('f');
        for (const entry of entries) expect(entryWith(unpacked(part, entry), {})).to.deep.equal(entryWith(entry, {}));
      }),
      { numRuns: 50 },
    );
  });

  it('finds no entry for a revision that was not added', () => {
    const cache = createPersonCache();
    const part = new KeptPart(
      packed([2, 4, 9].map((at) => personEntry(cache, createPerson({ name: `p${at}` }), at))).data,
    );
    expect([1, 2, 3, 4, 5, 8, 9, 10].map((revision) => part.find(revision))).to.deep.equal([
      undefined,
      0,
      undefined,
      1,
      undefined,
      undefined,
      2,
      undefined,
    ]);
  });

  it('recognizes the bytes of an object wherever they are in memory, and refuses changed bytes', () => {
    const cache = createPersonCache();
    const entry = personEntry(cache, createPerson({ name: 'ann' }), 7);
    const part = new KeptPart(packed([entry]).data);
    const bytes = Buffer.from(entry.bytes);
    expect(part.hasBytes(0, bytes)).to.equal(true);
    bytes.writeUInt8(bytes.readUInt8(9) ^ 1, 9);
    expect(part.hasBytes(0, bytes)).to.equal(false);
  });

  it('is unreadable when any of its bytes has changed or is missing', () => {
    const cache = createPersonCache();
    const { data } = packed(
      [1, 2].map((at) => personEntry(cache, createPerson({ name: `p${at}` }, { slug: 'é' }), at)),
    );
    for (let at = 0; at < data.length; at += 1) {
      const damaged = Uint8Array.from(data);
      damaged[at] = (damaged[at] ?? 0) ^ (1 << (at % 8));
      expect(() => new KeptPart(damaged), `byte ${at}`).to.throw(UnreadablePart);
      expect(() => new KeptPart(data.subarray(0, at)), `${at} bytes`).to.throw(UnreadablePart);
    }
    expect(() => new KeptPart(Buffer.concat([data, Buffer.of(0)]))).to.throw(UnreadablePart, 'the wrong length');
    expect(new KeptPart(data).size).to.equal(2);
  });

  it('can be read when it begins at an odd offset in a larger buffer', () => {
    const cache = createPersonCache();
    const { data } = packed([personEntry(cache, createPerson({ name: 'ann' }), 7)]);
    const moved = Buffer.concat([Buffer.of(1, 2, 3), data]).subarray(3);
    expect(new KeptPart(moved).find(7)).to.equal(0);
  });

  it('is full at the maximum number of entries, or of bytes of values', () => {
    const cache = createPersonCache();
    const packer = new PartPacker('f');
    const entry = personEntry(cache, createPerson({ name: 'ann' }), 7);
    while (!packer.isFull) packer.add(entry);
    expect(packer.size).to.equal(maxPartEntries);
    const large = new PartPacker('f');
    const tags = Array.from({ length: 10_000 }, (_, at) => `tag-${at}`);
    const many = personEntry(cache, createPerson({ name: 'ann' }, { tags }), 7);
    while (!large.isFull) large.add(many);
    expect(large.size).to.be.within(10, 20);
  });
});
