import type { JsonSchema } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import fc from 'fast-check';
import { compileSchema } from '../schema/compile-schema.ts';
import { Pace } from '../turns/pace.ts';
import { allSteps } from '../turns/steps.ts';
import { applyFields } from './apply-fields.ts';
import type { Applied } from './apply-fields.ts';
import { difference, isEmptySet, membersOf } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import type { Fields } from './field-type.ts';
import { allFieldsOf, appliedFieldsOf as appliedFieldsSteps } from './fields-of.ts';
import { capUpdates, entryOf, fieldsOfEntry, newEntry } from './managed-fields.ts';
import type { ManagedFields, Manager } from './managed-fields.ts';
import { trackUpdate } from './managed-fields.ts';

const text: JsonSchema = { type: 'string' };
const item: JsonSchema = { type: 'object', properties: { k: text, x: text, y: text } };
const keyed = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] } as const;
const spec: JsonSchema = {
  type: 'object',
  properties: {
    a: text,
    b: text,
    tags: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
    items: { type: 'array', items: item, ...keyed },
    lines: { type: 'array', items: text },
    entries: { type: 'object', additionalProperties: { type: 'object', properties: { x: text } } },
    one: { type: 'object', additionalProperties: text, 'x-kubernetes-map-type': 'atomic' },
    free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  },
};
const { shape } = compileSchema({ schemaName: 'T', components: { T: { type: 'object', properties: { spec } } } });

interface State {
  readonly content: Fields;
  readonly managedFields: ManagedFields;
}

const nothing: State = { content: {}, managedFields: [] };

function manager(name: string, operation: Manager['operation'] = 'Apply'): Manager {
  return { manager: name, operation, apiVersion: 'g/v1' };
}

function attempt(state: State, name: string, applied: object, force = false): Applied {
  const write = { by: manager(name), shape, force };
  return allSteps(applyFields(state, { spec: applied }, write));
}

function apply(state: State, name: string, applied: object, force = true): State {
  const result = attempt(state, name, applied, force);
  if (result.conflicts !== undefined) throw new Error('a conflict');
  return result;
}

/** Returns the state after an update by a manager. The registry would record the same owners of fields. */
function update(state: State, name: string, next: object): State {
  const metadata = { name: 'x' } as never;
  const envelope = { apiVersion: 'g/v1', kind: 'T', metadata };
  const content = { spec: next };
  const write = { by: manager(name, 'Update'), shape, now: '2030-01-01T00:00:00Z', isLong: false };
  const states = { before: { ...envelope, ...state.content }, after: { ...envelope, ...content } };
  return { content, managedFields: allSteps(trackUpdate(state.managedFields, states, write)) };
}

function ownedBy(state: State, name: string, operation?: Manager['operation']): FieldSet {
  return fieldsOfEntry(entryOf(state.managedFields, manager(name, operation)));
}

function appliedFieldsOf(content: Fields): FieldSet {
  return allSteps(appliedFieldsSteps(content, shape, new Pace()));
}

function texts(set: FieldSet): readonly string[] {
  return Array.from(membersOf(set), (path) => path.join('/'));
}

const value = fc.constantFrom('1', '2');
const some = { requiredKeys: [] };
const specs = fc.record(
  {
    a: value,
    b: value,
    tags: fc.uniqueArray(fc.constantFrom('p', 'q', 'r')),
    items: fc.uniqueArray(fc.record({ k: fc.constantFrom('i', 'j'), x: value, y: value }, { requiredKeys: ['k'] }), {
      selector: ({ k }) => k,
    }),
    lines: fc.array(value, { maxLength: 2 }),
    entries: fc.dictionary(fc.constantFrom('m', 'n'), fc.record({ x: value }, some)),
    one: fc.dictionary(fc.constantFrom('m', 'n'), value),
    free: fc.dictionary(fc.constantFrom('m', 'n'), fc.oneof(value, fc.record({ x: value, y: value }, some))),
  },
  some,
);
const writer = fc.constantFrom('A', 'B', 'C');
const steps = fc.array(fc.tuple(writer, specs, fc.boolean()), { maxLength: 6 });

/** Returns the state after manager A has applied a field and the managers in `history` have written their fields. */
function stateAfter(history: readonly (readonly [string, object, boolean])[]): State {
  return history.reduce(
    (state, [name, wanted, isUpdate]) => (isUpdate ? update(state, name, wanted) : apply(state, name, wanted)),
    apply(nothing, 'A', { a: '1' }),
  );
}

describe('server-side apply', () => {
  it('changes nothing when a manager applies the same object again', () => {
    fc.assert(
      fc.property(steps, specs, (history, wanted) => {
        const once = apply(stateAfter(history), 'A', wanted);
        expect(apply(once, 'A', wanted, false)).to.deep.equal(once);
      }),
    );
  });

  it('reports no conflict for fields that no other manager owns', () => {
    fc.assert(
      fc.property(specs, specs, (first, second) => {
        expect(attempt(apply(nothing, 'A', first), 'A', second)).to.not.have.property('conflicts');
      }),
    );
  });

  it('makes the manager the owner of exactly the fields that it applies', () => {
    fc.assert(
      fc.property(steps, specs, (history, wanted) => {
        const state = apply(stateAfter(history), 'A', wanted);
        expect(texts(ownedBy(state, 'A'))).to.have.members(texts(appliedFieldsOf({ spec: wanted })));
        expect(texts(difference(appliedFieldsOf({ spec: wanted }), allFieldsOf(state.content, shape)))).to.be.empty;
      }),
    );
  });

  it('records owners only for fields that the object has', () => {
    fc.assert(
      fc.property(steps, (history) => {
        const { content, managedFields } = stateAfter(history);
        const present = allFieldsOf(content, shape);
        for (const entry of managedFields) {
          expect(texts(difference(fieldsOfEntry(entry), present)), entry.manager).to.deep.equal([]);
          expect(isEmptySet(fieldsOfEntry(entry))).to.equal(false);
        }
      }),
    );
  });

  it('removes a field that its manager no longer applies, but keeps the field if another manager owns it', () => {
    fc.assert(
      fc.property(specs, specs, specs, (mine, less, others) => {
        const both = apply(apply(nothing, 'A', mine), 'B', others);
        const before = ownedBy(both, 'A');
        const kept = apply(both, 'A', less);
        const gone = difference(before, ownedBy(kept, 'A'));
        const stillOwned = new Set([...texts(ownedBy(kept, 'A')), ...texts(ownedBy(kept, 'B'))]);
        const present = new Set(texts(allFieldsOf(kept.content, shape)));
        for (const path of texts(gone)) {
          const isHeld = stillOwned.has(path) || [...stillOwned].some((each) => each.startsWith(`${path}/`));
          expect(present.has(path), path).to.equal(isHeld);
        }
      }),
    );
  });

  it('keeps a field that a manager has taken by force when the former owner applies an object without the field', () => {
    const forced = apply(apply(nothing, 'A', { a: '1', b: '1' }), 'B', { a: '2' });
    expect(ownedBy(forced, 'A')).to.deep.equal({ 'f:spec': { 'f:b': {} } });
    const dropped = apply(forced, 'A', {});
    expect(dropped.content).to.deep.equal({ spec: { a: '2' } });
    expect(ownedBy(dropped, 'B')).to.deep.equal({ 'f:spec': { 'f:a': {} } });
  });

  it('reports a conflict for each field of another manager that would get another value', () => {
    const state = apply(nothing, 'A', { a: '1', b: '1', items: [{ k: 'i', x: '1' }] });
    const { conflicts = [] } = attempt(state, 'B', { a: '2', b: '1', items: [{ k: 'i', x: '2' }, { k: 'j' }] });
    expect(conflicts.map(({ entry, fields }) => [entry.manager, texts(fields)])).to.deep.equal([
      ['A', ['f:spec/f:a', 'f:spec/f:items/k:{"k":"i"}/f:x']],
    ]);
  });

  it('removes a field that several managers share only when the last of them no longer applies it', () => {
    const shared = apply(apply(nothing, 'A', { a: '1' }), 'B', { a: '1' }, false);
    const one = apply(shared, 'A', {});
    expect(one.content).to.deep.equal({ spec: { a: '1' } });
    expect(apply(one, 'B', {}).content).to.deep.equal({ spec: {} });
  });

  it('puts the applied items of a list in the applied order, and keeps the order of the other items', () => {
    const state = update(nothing, 'U', { tags: ['a', 'x', 'b'] });
    expect(apply(state, 'A', { tags: ['b', 'a'] }).content).to.deep.equal({ spec: { tags: ['x', 'b', 'a'] } });
    expect(apply(state, 'A', { tags: ['n', 'b'] }).content).to.deep.equal({ spec: { tags: ['a', 'x', 'n', 'b'] } });
  });

  it('replaces atomic lists and atomic maps as a whole', () => {
    const state = apply(nothing, 'A', { lines: ['1', '2'], one: { m: '1' } });
    expect(ownedBy(state, 'A')).to.deep.equal({ 'f:spec': { 'f:lines': {}, 'f:one': {} } });
    const next = apply(state, 'A', { lines: ['2'], one: { n: '1' } });
    expect(next.content).to.deep.equal({ spec: { lines: ['2'], one: { n: '1' } } });
  });

  it('merges the oldest Update entries of managedFields when there are more than ten, and keeps all their fields', () => {
    const base = apply(nothing, 'A', { a: '1' }).managedFields;
    const many = Array.from({ length: 15 }, (_, index) =>
      newEntry(manager(`u${index}`, 'Update'), { [`f:x${index}`]: {} }, `2030-01-01T00:00:${10 + index}Z`),
    );
    const capped = allSteps(capUpdates([...base, ...many]));
    const updates = capped.filter(({ operation }) => operation === 'Update');
    expect(updates.map((entry) => entry.manager)).to.deep.equal([
      'ancient-changes',
      ...Array.from({ length: 9 }, (_, index) => `u${index + 6}`),
    ]);
    expect(updates[0]).to.deep.include({
      time: '2030-01-01T00:00:15Z',
      fieldsV1: Object.fromEntries([0, 1, 2, 3, 4, 5].map((index) => [`f:x${index}`, {}])),
    });
    expect(capped.filter(({ operation }) => operation === 'Apply')).to.deep.equal(base);
  });
});
