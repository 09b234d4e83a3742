import { expect } from 'chai';
import fc from 'fast-check';

import { allSteps } from '../turns/steps.ts';
import { claimDifference } from './claim-difference.ts';
import { type Change, type Claim, CompactedError, type Operation, type Outcome, type Store } from './store.ts';

/** A random step of a test. The model turns it into an operation that is valid or nearly valid at that time. */
interface Draw {
  readonly op: Operation['op'];
  readonly name: number;
  readonly isStale: boolean;
  readonly data: Uint8Array;
  readonly add: readonly Claim[];
  readonly removeHeld: boolean;
}

const claim = fc.tuple(fc.integer({ min: 1, max: 2 }), fc.constantFrom('a', 'b', 'y'.repeat(250)));
const draw: fc.Arbitrary<Draw> = fc.record({
  op: fc.constantFrom('create', 'update', 'delete'),
  name: fc.nat({ max: 5 }),
  isStale: fc.nat({ max: 5 }).map((n) => n === 0),
  data: fc.uint8Array({ maxLength: 8 }),
  add: fc.array(claim, { maxLength: 2 }),
  removeHeld: fc.boolean(),
});
const step = fc.oneof(
  { weight: 9, arbitrary: fc.record({ batch: fc.array(draw, { minLength: 1, maxLength: 6 }) }) },
  { weight: 1, arbitrary: fc.record({ compactRows: fc.nat({ max: 5 }) }) },
);

/** Adds the tests that compare random histories with a simple model in memory. */
export function describeStoreModel(store: () => Store): void {
  for (const [numRuns, tier] of [
    [10, ''],
    [150, ' [slow]'],
  ] as const) {
    it(`has the same outcomes, rows and changes as a simple model in memory, for random histories${tier}`, async () => {
      let kind = 0;
      const property = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 20 }), async (steps) => {
        // Each run has its own kind, so that runs can share a store.
        kind += 1;
        const model = new StoreModel(kind, await store().currentRevision());
        for (const each of steps) {
          if ('batch' in each) await model.commit(store(), each.batch);
          else await model.compact(store(), each.compactRows);
        }
        await model.compare(store());
      });
      await fc.assert(property, { numRuns });
    });
  }
}

class StoreModel {
  readonly #kind: number;
  readonly #rows = new Map<string, { readonly revision: number; readonly data: Uint8Array }>();
  readonly #holders = new Map<string, { readonly key: string; readonly claim: Claim }>();
  #changes: Change[] = [];
  #revision: number;
  #compactRevision: number;

  constructor(kind: number, revision: number) {
    this.#kind = kind;
    this.#revision = revision;
    this.#compactRevision = revision;
  }

  async commit(store: Store, draws: readonly Draw[]): Promise<void> {
    const batch = apart(draws.map((each) => this.#operation(each)));
    const { outcomes } = await store.commit(batch);
    expect(outcomes).to.have.lengthOf(batch.length);
    for (const [position, operation] of batch.entries()) this.#check(operation, outcomes[position]);
  }

  async compact(store: Store, maxRows: number): Promise<void> {
    // In the first call for a StoreModel, this compaction deletes the changes that earlier tests left in the store. In
    // later calls, it has no changes to delete.
    await store.compact(this.#compactRevision, Number.MAX_SAFE_INTEGER);
    const gone = this.#changes.slice(0, maxRows);
    const dropped = await store.compact(this.#revision, maxRows);
    expect(dropped).to.equal(gone.length);
    this.#changes = this.#changes.slice(maxRows);
    if (maxRows > 0) this.#compactRevision = gone.length < maxRows ? this.#revision : (gone.at(-1)?.revision ?? 0);
    if (this.#compactRevision === 0) return;
    const error = await store.changes(this.#compactRevision - 1, 1).catch((reason: unknown) => reason);
    if (maxRows > 0) expect(error).to.be.instanceOf(CompactedError);
  }

  async compare(store: Store): Promise<void> {
    const rows: unknown[] = [];
    for await (const page of store.scan(this.#kind)) {
      rows.push(...page.map(({ key, revision, data }) => ({ key, revision, data: [...data] })));
    }
    const expected = [...this.#rows].map(([key, { revision, data }]) => ({ key, revision, data: [...data] }));
    // The rows of one kind have no guaranteed order.
    expect(rows).to.have.deep.members(expected);
    expect((await store.changes(this.#compactRevision, 1000)).map(plain)).to.deep.equal(this.#changes.map(plain));
    expect(await store.currentRevision()).to.equal(this.#revision);
    const stored = await store.claims(this.#kind);
    expect(stored).to.include({ generation: 0, revision: this.#revision });
    expect(allSteps(claimDifference(stored.claims, [...this.#holders.values()]))).to.deep.equal({ set: [], drop: [] });
  }

  #operation({ op, name, isStale, data, add, removeHeld }: Draw): Operation {
    const key = `/registry/example.com/kind-${this.#kind}/${name}`;
    const held = [...this.#holders.values()].filter((holder) => holder.key === key).map((holder) => holder.claim);
    const isDelete = op === 'delete';
    const unique = { add: isDelete ? [] : add, remove: isDelete || removeHeld ? held : [] };
    const expected = (this.#rows.get(key)?.revision ?? 1) - (isStale ? 1 : 0);
    // A deletion may give the store the last state of its object. The first random byte decides whether this one does.
    const withData = !isDelete || (data[0] ?? 0) > 100 ? { data } : {};
    return { op, key, kind: this.#kind, unique, ...(op === 'create' ? {} : { expect: expected }), ...withData };
  }

  #check(operation: Operation, outcome: Outcome | undefined): void {
    const conflict = this.#conflict(operation);
    if (conflict === undefined && outcome && 'revision' in outcome) return this.#apply(operation, outcome.revision);
    expect(outcome).to.have.property('conflict', conflict);
    if (outcome && 'conflict' in outcome && outcome.conflict === 'unique') {
      expect(operation.unique?.add).to.deep.include(outcome.claim);
      expect(this.#holders.get(outcome.claim.join())?.key).to.equal(outcome.holder);
    }
  }

  #conflict({ op, key, expect: expected, unique }: Operation): string | undefined {
    const row = this.#rows.get(key);
    if (op === 'create' && row) return 'exists';
    if (op !== 'create' && !row) return 'notFound';
    if (op !== 'create' && row?.revision !== expected) return 'revision';
    const isTaken = unique?.add.some((each) => (this.#holders.get(each.join())?.key ?? key) !== key);
    return isTaken ? 'unique' : undefined;
  }

  #apply({ op, key, data, unique }: Operation, revision: number): void {
    expect(revision).to.be.above(this.#revision);
    this.#revision = revision;
    const before = this.#rows.get(key);
    const change = { revision, op, key, kind: this.#kind, data: data ?? before?.data ?? new Uint8Array() };
    this.#changes.push(before ? { ...change, previous: before } : change);
    if (op === 'delete') this.#rows.delete(key);
    else this.#rows.set(key, { revision, data: change.data });
    for (const each of unique?.remove ?? []) this.#holders.delete(each.join());
    for (const each of unique?.add ?? []) this.#holders.set(each.join(), { key, claim: each });
  }
}

/** Returns the operations that may be in one batch: at most one for each key, and no two that change the same claim. */
function apart(operations: readonly Operation[]): Operation[] {
  const taken = new Set<string>();
  return operations.filter(({ key, unique }) => {
    const tokens = [key, ...(unique?.add ?? []).map(String), ...(unique?.remove ?? []).map(String)];
    if (tokens.some((token) => taken.has(token))) return false;
    for (const token of tokens) taken.add(token);
    return true;
  });
}

function plain({ data, previous, ...rest }: Change): object {
  return { ...rest, data: [...data], previous: previous && { ...previous, data: [...previous.data] } };
}
