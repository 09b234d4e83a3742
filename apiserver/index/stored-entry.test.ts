import { compareCodePoints } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import fc from 'fast-check';
import { characters } from '../base/characters.test-support.ts';
import { compareNames } from './lists/compare-strings.ts';
import { createEntry, entryWith } from './create-entry.ts';
import type { EntryObject } from './create-entry.ts';
import type { IndexValue } from './entry.ts';
import type { StoredEntry } from './stored-entry.ts';
import { Slabs } from './slabs.ts';

const text = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ unit: characters, maxLength: 6 }),
  fc.constantFrom('', '\ud800', '\u00e9t\u00e9', '\u0100', 'x'.repeat(1023), 'y'.repeat(1024), '\uff5e'.repeat(2000)),
);
const name = fc.oneof(fc.stringMatching(/^[a-z0-9-]{1,20}$/), fc.constantFrom('a', 'b', 'n'.repeat(1100), '\u0100'));
const value: fc.Arbitrary<IndexValue> = fc.oneof(
  text,
  name,
  fc.array(text, { maxLength: 3 }),
  fc.constant(Array.from({ length: 300 }, (_, at) => `label-${at}=v`)),
);
const values = fc.array(value, { maxLength: 9 });

interface Given {
  readonly name: string;
  readonly namespace: string | undefined;
  readonly uid: string | undefined;
  readonly owners: readonly { readonly uid: string; readonly blockOwnerDeletion: boolean }[];
  readonly finalizers: readonly string[] | undefined;
  readonly revision: number;
  readonly values: IndexValue[];
  readonly size: number;
}

const given: fc.Arbitrary<Given> = fc.record({
  name,
  namespace: fc.option(name, { nil: undefined }),
  uid: fc.option(text, { nil: undefined }),
  owners: fc.array(fc.record({ uid: text, blockOwnerDeletion: fc.boolean() }), { maxLength: 3 }),
  finalizers: fc.option(fc.constantFrom([], ['orphan'], ['foregroundDeletion']), { nil: undefined }),
  revision: fc.maxSafeNat(),
  values,
  size: fc.constantFrom(2, 3, 1000, 140_000),
});

function personEntry(
  slabs: Slabs,
  { size, revision, values: all, owners, finalizers, ...metadata }: Given,
): StoredEntry {
  const bytes = slabs.allocate(size).fill('x');
  const deletion = finalizers === undefined ? {} : { finalizers, deletionTimestamp: '2024-01-01T00:00:00Z' };
  const object: EntryObject = { metadata: { ...metadata, ...deletion, ownerReferences: owners } };
  return createEntry(object, { bytes, revision, values: all, slabs });
}

describe('a record', () => {
  it('decodes the values of an index once for repeated reads, and does not return them for another index or record', () => {
    const slabs = new Slabs();
    const record = (list: readonly string[]): StoredEntry =>
      createEntry(
        { metadata: { name: 'a' } },
        { bytes: slabs.allocate(4), revision: 1, values: [list, ['z', ...list]], slabs },
      );
    const [first, second] = [record(['a', 'b']), record(['c', 'd'])];
    expect(first.valueAt(0)).to.deep.equal(['a', 'b']).and.to.equal(first.valueAt(0));
    expect(second.valueAt(0)).to.deep.equal(['c', 'd']);
    expect(second.valueAt(1)).to.deep.equal(['z', 'c', 'd']);
    expect(first.valueAt(0)).to.deep.equal(['a', 'b']);
  });

  it('returns every field of an entry unchanged, for any characters, lengths and numbers', () => {
    const slabs = new Slabs();
    const check = (each: Given): void => {
      const entry = personEntry(slabs, each);
      const policies = { '': 'Background', orphan: 'Orphan', foregroundDeletion: 'Foreground' } as const;
      const finalizer = each.finalizers?.[0] ?? '';
      expect(entryWith(entry, { bytes: Buffer.alloc(0) })).to.deep.equal({
        key: each.namespace === undefined ? each.name : `${each.namespace}/${each.name}`,
        name: each.name,
        namespace: each.namespace,
        uid: each.uid,
        revision: each.revision,
        bytes: Buffer.alloc(0),
        size: 0,
        values: each.values,
        owners:
          each.owners.length === 0
            ? undefined
            : each.owners.map((owner) => ({ uid: owner.uid, blocks: owner.blockOwnerDeletion })),
        deletion: each.finalizers === undefined ? undefined : policies[finalizer as keyof typeof policies],
      });
      expect(entry.bytes.equals(Buffer.alloc(each.size, 'x'))).to.equal(true);
      expect(entry.hasKey(entry.key)).to.equal(true);
      expect(entry.hasKey(`${entry.key}x`)).to.equal(false);
    };
    fc.assert(fc.property(given, check), { numRuns: 200 });
  });

  it('orders names and values in the same way as a comparison of strings', () => {
    const slabs = new Slabs();
    const check = (a: Given, b: Given, literal: string): void => {
      const [left, right] = [personEntry(slabs, a), personEntry(slabs, b)];
      expect(Math.sign(left.compareNames(right))).to.equal(Math.sign(compareNames(a, b)));
      const count = Math.min(a.values.length, b.values.length);
      for (let at = 0; at < count; at += 1) {
        const [own, other] = [left.valueAt(at), right.valueAt(at)];
        expect(left.hasSameValues(at, right)).to.equal(JSON.stringify(own) === JSON.stringify(other));
        expect(left.hasSameValues(at, left)).to.equal(true);
        for (const isLast of [false, true]) {
          const one = left.oneValueAt(at, isLast);
          expect(one).to.equal(typeof own === 'string' ? own : own.at(isLast ? -1 : 0));
          if (one === undefined) continue;
          const order = Math.sign(left.compareValue(at, isLast, literal));
          expect(order).to.equal(Math.sign(compareCodePoints(one, literal)));
        }
      }
    };
    fc.assert(fc.property(given, given, text, check), { numRuns: 200 });
  });

  it('has the labels of an object with many and long labels', () => {
    const labels = Array.from({ length: 60_000 }, (_, at) => `label-${at}=value`);
    const metadata = { name: 'a', uid: 'b' };
    const entry = createEntry({ metadata }, { revision: 1, bytes: Buffer.from('{}'), values: ['a', labels, 'c'] });
    expect(entry.valueAt(1)).to.deep.equal(labels);
    expect([entry.key, entry.uid, entry.valueAt(0), entry.valueAt(2)]).to.deep.equal(['a', 'b', 'a', 'c']);
  });
});
