import { createHash } from 'node:crypto';

import { expect } from 'chai';

import { allSteps } from '../turns/steps.ts';
import { claimDifference } from './claim-difference.ts';
import { bytes, committed, create, key, kind, revisionOf, written } from './store-operations.fixture.ts';
import type { Claim, KindClaims, Operation, Store } from './store.ts';

/**
 * Adds the tests of claims: a unique value has at most one holder, and a refused operation neither takes nor releases
 * claims.
 */
export function describeClaims(store: () => Store): void {
  const value: Claim = [1, 'ada@example.com'];
  const update = (name: string, expected: number, claims: NonNullable<Operation['unique']>): Operation => {
    return { op: 'update', key: key(name), kind, expect: expected, data: bytes('u'), unique: claims };
  };

  it('refuses an operation whose claim another object holds, and returns the claim and its holder', async () => {
    const outcomes = await committed(store(), [create('a', '1', [value]), create('b', '2')]);
    expect(outcomes.map((outcome) => 'revision' in outcome)).to.deep.equal([true, true]);
    const [lost] = await committed(store(), [create('c', '3', [[1, 'free'], value])]);
    expect(lost).to.deep.equal({ conflict: 'unique', holder: key('a'), claim: value });
  });

  it('writes nothing, and neither takes nor releases a claim, when an operation cannot get one of its claims', async () => {
    const [a = 0] = await written(store(), create('a', '1', [[1, 'mine']]), create('b', '2', [value]));
    const before = await store().currentRevision();
    const [lost] = await committed(store(), [update('a', a, { add: [[2, 'won'], value], remove: [[1, 'mine']] })]);
    expect(lost).to.deep.equal({ conflict: 'unique', holder: key('b'), claim: value });
    expect(await store().currentRevision()).to.equal(before);
    await written(store(), create('c', '3', [[2, 'won']]));
    expect(await committed(store(), [create('d', '4', [[1, 'mine']])])).to.deep.equal([
      { conflict: 'unique', holder: key('a'), claim: [1, 'mine'] },
    ]);
  });

  it('lets an operation take a claim that it releases itself, or that an earlier commit has released', async () => {
    const [a = 0] = await written(store(), create('a', '1', [value]));
    const [again = 0] = await written(store(), update('a', a, { add: [value], remove: [value] }));
    expect(await committed(store(), [create('b', '2', [value])])).to.have.nested.property('[0].conflict', 'unique');
    await written(store(), update('a', again, { add: [[1, 'other']], remove: [value] }));
    await written(store(), create('b', '2', [value]));
  });

  it('keeps a claim of one object when an update of another object asks to remove that claim', async () => {
    const [, b = 0] = await written(store(), create('a', '1', [value]), create('b', '2'));
    await written(store(), update('b', b, { add: [], remove: [value] }));
    expect(await committed(store(), [create('c', '3', [value])])).to.deep.equal([
      { conflict: 'unique', holder: key('a'), claim: value },
    ]);
  });

  it('lets two objects hold claims that differ only in kind, index, length, a NUL or a lone surrogate', async () => {
    const long = 'x'.repeat(300);
    // The text that the store writes in place of the long value.
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
    const lost = await committed(
      store(),
      values.map((each, at) => create(`l${at}`, '', [[1, each]])),
    );
    expect(lost).to.deep.equal(
      values.map((each, at) => ({ conflict: 'unique', holder: key(`n${at}`), claim: [1, each] })),
    );
  });
}

/** Adds the tests of setting all claims of a kind, and of the writes that are accepted afterwards. */
export function describeKindClaims(store: () => Store): void {
  const nothing = { indexes: [], claims: [] };
  const holder = (name: string, ...claim: Claim): KindClaims['claims'][number] => ({ claim, key: key(name) });

  it('replaces the claims of a kind, and leaves those of other kinds unchanged', async () => {
    await written(
      store(),
      create('a', '1', [[1, 'stays']]),
      create('b', '2', [[1, 'goes']]),
      create('c', '3', [[1, 'moves']]),
    );
    const [revision = 0] = await written(store(), { ...create('other', '', [[1, 'goes']]), kind: 2 });
    const claims = [holder('a', 1, 'stays'), holder('a', 1, 'moves'), holder('b', 2, 'x'.repeat(300))];
    const wanted = { indexes: [1, 2], claims, revision };
    expect(await store().claims(kind)).to.deep.include({ generation: 0, indexes: [], revision });
    expect(await store().uniqueIndexes(kind)).to.deep.equal({ generation: 0, indexes: [] });
    const first = await store().setClaims(kind, wanted);
    expect(first).to.have.property('generation').that.is.above(0);
    const stored = await store().claims(kind);
    expect(stored).to.deep.include({ ...first, indexes: [1, 2], revision });
    expect(await store().uniqueIndexes(kind)).to.deep.equal({ ...first, indexes: [1, 2] });
    expect(allSteps(claimDifference(stored.claims, claims))).to.deep.equal({ set: [], drop: [] });
    expect(await store().setClaims(kind, wanted)).to.deep.equal(first);
    const lost = await committed(
      store(),
      claims.map(({ claim }, at) => create(`l${at}`, '', [claim])),
    );
    expect(lost).to.deep.equal(claims.map(({ claim, key: of }) => ({ conflict: 'unique', holder: of, claim })));
    await written(store(), create('d', '4', [[1, 'goes']]));
    expect(await committed(store(), [{ ...create('e', '', [[1, 'goes']]), kind: 2 }])).to.have.nested.property(
      '[0].holder',
      key('other'),
    );
  });

  it('setClaims sets thousands of claims, then gives each to another object, then removes most of them [slow]', async () => {
    const count = 5_500;
    const [revision = 0] = await written(store(), create('a', '', []));
    const set = async (claims: KindClaims['claims']): Promise<void> => {
      expect(await store().setClaims(kind, { indexes: [1], claims, revision })).to.have.property('generation');
      const stored = await store().claims(kind);
      expect(allSteps(claimDifference(stored.claims, claims))).to.deep.equal({ set: [], drop: [] });
      expect(stored.claims).to.have.length(claims.length);
    };
    const claims = Array.from({ length: count }, (_, at) => holder(`o${at}`, 1, `v${at}`));
    await set(claims);
    await set(claims.map(({ claim }, at) => ({ claim, key: key(`o${(at + 1) % count}`) })));
    await set(claims.slice(0, 100));
  });

  it('setClaims sets a new generation if and only if indexes or claims change, even if the kind has no objects', async () => {
    const generations = new Set<unknown>();
    const set = async (claims: Omit<KindClaims, 'revision'>): Promise<void> => {
      const outcome = await store().setClaims(kind, { ...claims, revision: await store().currentRevision() });
      generations.add('generation' in outcome ? outcome.generation : outcome.refused);
    };
    await set(nothing);
    await set({ ...nothing, indexes: [1] });
    await set({ ...nothing, indexes: [1] });
    await set({ ...nothing, indexes: [1, 2] });
    await written(store(), create('a', '1'));
    await set({ claims: [holder('a', 1, 'x')], indexes: [1, 2] });
    await set({ claims: [holder('a', 1, 'y')], indexes: [1, 2] });
    await set(nothing);
    expect([...generations].every((generation) => typeof generation === 'number')).to.equal(true);
    expect(generations.size).to.equal(6);
  });

  it('refuses a write that names an earlier generation of the unique indexes of its kind', async () => {
    const old = await store().setClaims(kind, { ...nothing, revision: 0 });
    const generation = 'generation' in old ? old.generation : Number.NaN;
    const [a = 0] = await written(store(), { ...create('a', '1'), generation });
    const next = await store().setClaims(kind, { ...nothing, indexes: [1], revision: a });
    const outcomes = await committed(store(), [
      { ...create('b', '2', [[1, 'v']]), generation },
      { ...create('c', '3'), kind: 2 },
      { op: 'update', key: key('a'), kind, expect: a, data: bytes('4'), generation },
      { ...create('d', '5', [[1, 'v']]), ...next },
    ]);
    expect(outcomes[0]).to.deep.equal({ conflict: 'generation' });
    expect(outcomes[2]).to.deep.equal({ conflict: 'generation' });
    expect([outcomes[1], outcomes[3]].map(revisionOf)).to.deep.equal([a + 1, a + 2]);
  });

  it('setClaims refuses claims if an object of the kind has changed after the given revision; changes of other kinds do not matter', async () => {
    const [a = 0] = await written(store(), create('a', '1'));
    const claims = { ...nothing, indexes: [1], revision: a };
    await written(store(), { ...create('of another kind', '2'), kind: 2 });
    expect(await store().setClaims(kind, claims)).to.have.property('generation');
    const [b = 0] = await written(store(), create('b', '3'));
    expect(await store().setClaims(kind, claims)).to.deep.equal({ refused: 'behind' });
    await store().compact(b, 10);
    expect(await store().setClaims(kind, claims)).to.deep.equal({ refused: 'behind' });
  });

  it('setClaims at an outdated revision stores the list of unique indexes, not the claims; writes of the old generation fail', async () => {
    const old = await store().setClaims(kind, { ...nothing, indexes: [1], revision: 0 });
    const generation = 'generation' in old ? old.generation : Number.NaN;
    const [a = 0] = await written(store(), { ...create('a', '1', [[1, 'v']]), generation });
    const wanted = { indexes: [1, 2], claims: [holder('a', 1, 'v'), holder('a', 2, 'w')] };
    expect(await store().setClaims(kind, { ...wanted, revision: a - 1 })).to.deep.equal({ refused: 'behind' });
    expect(await committed(store(), [{ ...create('b', '2'), generation }])).to.deep.equal([{ conflict: 'generation' }]);
    const between = await store().claims(kind);
    expect(between.indexes).to.deep.equal([1, 2]);
    expect(between.claims).to.have.lengthOf(1);
    const next = await store().setClaims(kind, { ...wanted, revision: a });
    expect(next).to.have.property('generation').that.is.above(between.generation);
    expect(await committed(store(), [{ ...create('b', '2', [[2, 'w']]), ...next }])).to.have.nested.property(
      '[0].holder',
      key('a'),
    );
  });
}

/**
 * Adds the tests of claims that an operation requires. Usually another object holds them; they must exist at the
 * commit.
 */
export function describeRequiredClaims(store: () => Store): void {
  const term: Claim = [1, 'first'];
  const leases = { kind: 2 };
  const lease = (add: readonly Claim[]): Operation => ({ ...create('lease', '', add), ...leases });
  const requires = [{ ...leases, claim: term }];

  it('commits a write if another object holds the claim that the write requires', async () => {
    await written(store(), lease([term]));
    const [a = 0] = await written(store(), { ...create('a', '1'), requires });
    const update: Operation = { op: 'update', key: key('a'), kind, expect: a, data: bytes('2'), requires };
    const [next = 0] = await written(store(), update, { ...create('b', '3', [[1, 'own']]), requires }, create('c', ''));
    await written(store(), { op: 'delete', key: key('a'), kind, expect: next, requires });
  });

  it('refuses an operation that requires a claim that no object has, and adds and removes no claims for this operation', async () => {
    const [held = 0] = await written(store(), lease([term]));
    const [a = 0] = await written(store(), create('a', '1', [[1, 'own']]));
    const change = { add: [[1, 'second']] as Claim[], remove: [term] };
    await written(store(), {
      op: 'update',
      key: key('lease'),
      ...leases,
      expect: held,
      data: bytes(''),
      unique: change,
    });
    const outcomes = await committed(store(), [
      { ...create('b', '2', [[1, 'won']]), requires },
      {
        op: 'update',
        key: key('a'),
        kind,
        expect: a,
        data: bytes('3'),
        unique: { add: [], remove: [[1, 'own']] },
        requires,
      },
      create('c', '4'),
      { ...create('d', '5'), requires: [{ ...leases, claim: [1, 'second'] }] },
    ]);
    expect(outcomes.slice(0, 2)).to.deep.equal([{ conflict: 'requires' }, { conflict: 'requires' }]);
    expect(outcomes.slice(2).map(revisionOf)).to.have.lengthOf(2);
    expect(await committed(store(), [create('e', '', [[1, 'own']])])).to.have.nested.property('[0].holder', key('a'));
    await written(store(), create('f', '', [[1, 'won']]));
  });

  it('reports a missing required claim before any other conflict, and distinguishes claims by kind and index', async () => {
    await written(store(), lease([term]));
    const missing = [
      { kind, claim: term },
      { ...leases, claim: [2, 'first'] as const },
      { ...leases, claim: [1, 'x'.repeat(300)] as const },
    ];
    for (const each of missing) {
      const stale: Operation = { op: 'update', key: key('gone'), kind, expect: 1, data: bytes(''), requires: [each] };
      expect(await committed(store(), [stale])).to.deep.equal([{ conflict: 'requires' }]);
    }
    const [taken] = await committed(store(), [{ ...lease([]), requires: [{ kind, claim: term }] }]);
    expect(taken).to.deep.equal({ conflict: 'requires' });
  });

  it('refuses an operation that requires several claims until objects hold all of these claims', async () => {
    const second: Claim = [1, 'second'];
    const both = [...requires, { ...leases, claim: second }];
    const all = (names: readonly string[]): Operation[] => [
      { ...create(names[0] ?? '', '1'), requires: both },
      { ...create(names[1] ?? '', '2'), requires },
      { ...create(names[2] ?? '', '3'), requires: both.toReversed() },
    ];
    await written(store(), lease([term]));
    const outcomes = await committed(store(), all(['a', 'b', 'c']));
    expect([outcomes[0], outcomes[2]]).to.deep.equal([{ conflict: 'requires' }, { conflict: 'requires' }]);
    expect(outcomes[1]).to.have.property('revision');
    await written(store(), { ...lease([second]), key: key('other') });
    await written(store(), ...all(['a', 'd', 'c']));
  });

  it('refuses an operation once the object that held the required claim is deleted', async () => {
    const [held = 0] = await written(store(), lease([term]));
    await written(store(), {
      op: 'delete',
      key: key('lease'),
      ...leases,
      expect: held,
      unique: { add: [], remove: [term] },
    });
    expect(await committed(store(), [{ ...create('a', '1'), requires }])).to.deep.equal([{ conflict: 'requires' }]);
  });
}
