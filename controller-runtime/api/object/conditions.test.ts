import { expect } from 'chai';
import { setCondition } from './conditions.ts';
import type { Condition, NewCondition } from './conditions.ts';

const before = '2026-01-01T00:00:00Z';
const now = '2026-01-02T00:00:00Z';
const ready: NewCondition = { type: 'Ready', status: 'True', reason: 'Done', message: '', observedGeneration: 3 };
const synced: Condition = { type: 'Synced', status: 'False', reason: 'Lag', message: 'x', lastTransitionTime: before };

describe('setCondition', () => {
  it('adds a condition of a new type at the end, with the current time', () => {
    expect(setCondition(undefined, ready, now)).to.deep.equal([{ ...ready, lastTransitionTime: now }]);
    expect(setCondition([synced], ready, now)).to.deep.equal([synced, { ...ready, lastTransitionTime: now }]);
  });

  it('sets lastTransitionTime when the status changes', () => {
    const conditions = setCondition([synced], { ...synced, status: 'True' }, now);
    expect(conditions).to.deep.equal([{ ...synced, status: 'True', lastTransitionTime: now }]);
  });

  it('keeps lastTransitionTime when only fields other than status change', () => {
    const stated: NewCondition = { type: 'Synced', status: 'False', reason: 'Late', message: 'y' };
    expect(setCondition([synced], stated, now)).to.deep.equal([{ ...stated, lastTransitionTime: before }]);
  });

  it('keeps observedGeneration unless the new condition has one', () => {
    const first = setCondition([], ready, before);
    const { observedGeneration: _, ...rest } = ready;
    expect(setCondition(first, rest, now)[0]?.observedGeneration).to.equal(3);
    expect(setCondition(first, { ...ready, observedGeneration: 4 }, now)[0]?.observedGeneration).to.equal(4);
  });

  it('does not change the given list', () => {
    const given = Object.freeze([Object.freeze({ ...ready, lastTransitionTime: before }), Object.freeze(synced)]);
    const changed = setCondition(given, { ...ready, status: 'False' }, now);
    expect(changed.map(({ type }) => type)).to.deep.equal(['Ready', 'Synced']);
    expect(given[0]?.status).to.equal('True');
  });
});
