import { createHash } from 'node:crypto';

import { expect } from 'chai';

import { bytes, create, key, kind, written } from './store-operations.fixture.ts';
import type { Claim, Operation, Store } from './store.ts';

/** Unique values: one holder each, whatever happens at the same time. */
export function describeClaims(store: () => Store): void {
  const value: Claim = [1, 'ada@example.com'];
  const update = (name: string, expected: number, claims: NonNullable<Operation['unique']>): Operation => {
    return { op: 'update', key: key(name), kind, expect: expected, data: bytes('u'), unique: claims };
  };

  it('gives a claim to one object, and names it and the claim to the other', async () => {
    const outcomes = await store().commit([create('a', '1', [value]), create('b', '2')]);
    expect(outcomes.map((outcome) => 'revision' in outcome)).to.deep.equal([true, true]);
    const [lost] = await store().commit([create('c', '3', [[1, 'free'], value])]);
    expect(lost).to.deep.equal({ conflict: 'unique', holder: key('a'), claim: value });
  });

  it('lets an operation that loses one claim keep none, write nothing and release nothing', async () => {
    const [a = 0] = await written(store(), create('a', '1', [[1, 'mine']]), create('b', '2', [value]));
    const before = await store().currentRevision();
    const [lost] = await store().commit([update('a', a, { add: [[2, 'won'], value], remove: [[1, 'mine']] })]);
    expect(lost).to.deep.equal({ conflict: 'unique', holder: key('b'), claim: value });
    expect(await store().currentRevision()).to.equal(before);
    await written(store(), create('c', '3', [[2, 'won']]));
    expect(await store().commit([create('d', '4', [[1, 'mine']])])).to.deep.equal([
      { conflict: 'unique', holder: key('a'), claim: [1, 'mine'] },
    ]);
  });

  it('moves a claim with its release, in one operation and from one object to the next', async () => {
    const [a = 0] = await written(store(), create('a', '1', [value]));
    const [again = 0] = await written(store(), update('a', a, { add: [value], remove: [value] }));
    expect(await store().commit([create('b', '2', [value])])).to.have.nested.property('[0].conflict', 'unique');
    await written(store(), update('a', again, { add: [[1, 'other']], remove: [value] }));
    await written(store(), create('b', '2', [value]));
  });

  it('removes no claim that another object holds', async () => {
    const [, b = 0] = await written(store(), create('a', '1', [value]), create('b', '2'));
    await written(store(), update('b', b, { add: [], remove: [value] }));
    expect(await store().commit([create('c', '3', [value])])).to.deep.equal([
      { conflict: 'unique', holder: key('a'), claim: value },
    ]);
  });

  it('tells values apart by kind, index, length, NUL and lone surrogates', async () => {
    const long = 'x'.repeat(300);
    // As if it knew what is stored for the long one.
    const hashOfLong = `#${createHash('sha256').update(Buffer.from(long, 'utf16le')).digest('base64')}`;
    const values = [long, `${long}y`, 'a\0b', 'a\0c', '\ud800', '\ud801', 'x', '#x', '', hashOfLong];
    await written(store(), ...values.map((each, at) => create(`n${at}`, '', [[1, each]])));
    await written(store(), ...values.map((each, at) => create(`m${at}`, '', [[2, each]])));
    await written(store(), {
      ...create(
        'k',
        '',
        values.map((each) => [1, each] as const),
      ),
      kind: 2,
    });
    const lost = await store().commit(values.map((each, at) => create(`l${at}`, '', [[1, each]])));
    expect(lost).to.deep.equal(
      values.map((each, at) => ({ conflict: 'unique', holder: key(`n${at}`), claim: [1, each] })),
    );
  });
}

export function describeReplaceClaims(store: () => Store): void {
  it('makes the claims of a kind what they are said to be, and counts what differed', async () => {
    await written(
      store(),
      create('a', '1', [[1, 'stays']]),
      create('b', '2', [[1, 'goes']]),
      create('c', '3', [[1, 'moves']]),
    );
    await written(store(), { ...create('other', '', [[1, 'goes']]), kind: 2 });
    const wanted = [
      { claim: [1, 'stays'], key: key('a') },
      { claim: [1, 'moves'], key: key('a') },
      { claim: [2, 'x'.repeat(300)], key: key('b') },
    ] as const;
    expect(await store().replaceClaims(kind, wanted)).to.equal(3);
    expect(await store().replaceClaims(kind, wanted)).to.equal(0);
    const lost = await store().commit(wanted.map(({ claim }, at) => create(`l${at}`, '', [claim])));
    expect(lost).to.deep.equal(wanted.map(({ claim, key: holder }) => ({ conflict: 'unique', holder, claim })));
    await written(store(), create('d', '4', [[1, 'goes']]));
    expect(await store().commit([{ ...create('e', '', [[1, 'goes']]), kind: 2 }])).to.have.nested.property(
      '[0].holder',
      key('other'),
    );
  });
}
