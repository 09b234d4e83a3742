import { seededRandom } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { checkLinearizability } from './check-history.ts';
import { created, history, lost, operation, read, shown, state, updated } from './hand-made.fixture.ts';
import { findUnexplained } from './linearizability.ts';
import type { Operation } from './history.ts';

const v1 = state(1);
const v2 = state(2, { version: 2 });
const v3 = state(3, { version: 3 });

function isLinearizable(...operations: readonly Operation[]): boolean {
  return checkLinearizability(history({ operations })).length === 0;
}

describe('linearizability of one object', () => {
  it('accepts a history in which no operations overlap, and each read returns the last written value', () => {
    expect(
      isLinearizable(read(1, 2, undefined), created(3, 4), read(5, 6, v1), updated(7, 8, v2), read(9, 10, v2)),
    ).to.equal(true);
  });

  it('accepts the old or new state in a read during a write, but not the old state after a read of the new state', () => {
    expect(isLinearizable(created(1, 2), updated(3, 8, v2), read(4, 5, v1), read(6, 7, v2))).to.equal(true);
    expect(isLinearizable(created(1, 2), updated(3, 8, v2), read(4, 5, v2), read(6, 7, v1))).to.equal(false);
  });

  it('rejects a stale read, which begins after the acknowledgement of a newer write', () => {
    expect(isLinearizable(created(1, 2), updated(3, 4, v2), read(5, 6, v1))).to.equal(false);
    expect(isLinearizable(created(1, 2), read(3, 4, undefined))).to.equal(false);
  });

  it('rejects a history in which an acknowledged write is lost', () => {
    expect(isLinearizable(created(1, 2), updated(3, 4, v2), updated(5, 6, state(3, { version: 2 })))).to.equal(false);
  });

  it('rejects two creations without a deletion between them, and accepts two with a deletion', () => {
    const again = state(3, { uid: 'u2' });
    const deletion = operation([3, 9], { verb: 'delete', expect: {} }, { kind: 'deleted', uid: 'u1' });
    expect(isLinearizable(created(1, 2), created(5, 6, again))).to.equal(false);
    expect(isLinearizable(created(1, 2), deletion, created(5, 6, again))).to.equal(true);
  });

  it('rejects a revision that decreases, also across a deletion', () => {
    const deletion = operation([3, 4], { verb: 'delete', expect: {} }, { kind: 'deleted', uid: 'u1' });
    expect(isLinearizable(created(1, 2, state(7)), deletion, created(5, 6, state(6, { uid: 'u2' })))).to.equal(false);
  });

  it('rejects a history in which an update succeeds despite a failed precondition, or conflicts despite a met precondition', () => {
    const expecting = (revision: number) => ({ verb: 'update', value: 'v3', expect: { revision } }) as const;
    const before = [created(1, 2), updated(3, 4, v2)];
    expect(isLinearizable(...before, operation([5, 6], expecting(2), shown(v3)))).to.equal(true);
    expect(isLinearizable(...before, operation([5, 6], expecting(1), shown(v3)))).to.equal(false);
    expect(isLinearizable(...before, operation([5, 6], expecting(1), { kind: 'conflict' }))).to.equal(true);
    expect(isLinearizable(...before, operation([5, 6], expecting(2), { kind: 'conflict' }))).to.equal(false);
  });

  it('rejects a history in which the server responds AlreadyExists when the object is absent, or NotFound when it exists', () => {
    const refused = operation([3, 4], { verb: 'create', value: 'x' }, { kind: 'exists' });
    const missed = operation([3, 4], { verb: 'delete', expect: {} }, { kind: 'notFound' });
    expect(isLinearizable(created(1, 2), refused)).to.equal(true);
    expect(isLinearizable(refused)).to.equal(false);
    expect(isLinearizable(missed)).to.equal(true);
    expect(isLinearizable(created(1, 2), missed)).to.equal(false);
  });

  it('treats a write that changes nothing as a read', () => {
    const touch = operation([5, 6], { verb: 'touch', value: 'v1', expect: { revision: 1 } }, shown(v1));
    expect(isLinearizable(created(1, 2), touch, read(7, 8, v1))).to.equal(true);
    expect(isLinearizable(created(1, 2), updated(3, 4, v2), touch)).to.equal(false);
  });

  it('lets a write with an unknown outcome take effect at any later time, or never', () => {
    const unknown = lost(3, { verb: 'update', value: 'v2', expect: {} });
    const after = updated(9, 10, v3);
    expect(isLinearizable(created(1, 2), unknown, read(5, 6, v1))).to.equal(true);
    expect(isLinearizable(created(1, 2), unknown, read(5, 6, v1), read(7, 8, v2))).to.equal(true);
    expect(isLinearizable(created(1, 2), unknown, read(7, 8, v1), after), 'unseen, but counted').to.equal(true);
    expect(isLinearizable(created(1, 2), unknown, read(5, 6, v2), read(7, 8, v1))).to.equal(false);
  });

  it('lets a write with an unknown outcome take effect at most once, and not before its call', () => {
    const unknown = lost(3, { verb: 'update', value: 'x', expect: {} });
    expect(isLinearizable(created(1, 2), unknown, updated(5, 6, state(4, { version: 4 }))), 'twice').to.equal(false);
    expect(
      isLinearizable(created(1, 2), updated(3, 4, v3), lost(5, { verb: 'update', value: 'x', expect: {} })),
    ).to.equal(false);
  });

  it('accepts results that are possible only if a deletion or a creation with an unknown outcome took effect', () => {
    const deletion = lost(3, { verb: 'delete', expect: {} });
    expect(isLinearizable(created(1, 2), deletion, read(5, 6, v1), read(7, 8, undefined))).to.equal(true);
    expect(isLinearizable(created(1, 2), deletion, read(5, 6, undefined), read(7, 8, v1))).to.equal(false);
    const creation = lost(7, { verb: 'create', value: 'x' });
    const onTop = state(9, { uid: 'u2', version: 2 });
    expect(isLinearizable(created(1, 2), deletion, creation, updated(8, 9, onTop))).to.equal(true);
  });

  it('decides whether a history is linearizable when forty of its writes have unknown outcomes', () => {
    const unknown = Array.from({ length: 40 }, (_, at): Operation => {
      const verb = (['create', 'update', 'delete'] as const)[at % 3]!;
      return lost(2 + at, verb === 'create' ? { verb, value: `x${at}` } : { verb, value: `x${at}`, expect: {} });
    });
    expect(
      isLinearizable(created(1, 2), ...unknown, read(50, 51, v1), updated(52, 53, state(9, { version: 5 }))),
    ).to.equal(true);
    expect(isLinearizable(created(1, 2), ...unknown, read(50, 51, state(9, { value: 'y' })))).to.equal(false);
  });

  it('treats a list as a read of each object that the client requested; an object missing in the list counts as absent', () => {
    const listing = { client: 'c', keys: ['a'], states: new Map(), revision: 1, call: 3, return: 4 };
    const violations = checkLinearizability(history({ operations: [created(1, 2)], listings: [listing] }));
    expect(violations).to.have.length(1);
    expect(violations[0]?.message).to.include('notFound');
  });
});

interface Step {
  readonly call: number;
  readonly return: number;
  /** `w1` is a write of 1, and `r1` is a read that returns 1. */
  readonly text: string;
}

interface Held {
  readonly digit: string;
}

/** The model of a register that has a digit as its value. */
const register = {
  initial: { digit: '0' },
  step: (held: Held, { text }: Step): Held | undefined => {
    if (text.startsWith('w')) return { digit: text.slice(1) };
    return text === `r${held.digit}` ? held : undefined;
  },
  formatState: ({ digit }: Held): string => digit,
  effectOf: ({ text }: Step): string => text,
};

describe('the search for an order', () => {
  /** Tries all orders of the operations, and returns true if one of them explains the responses. */
  function isExplained(steps: readonly Step[], held: Held): boolean {
    if (steps.every((each) => each.return === Infinity)) return true;
    const earliest = Math.min(...steps.map((each) => each.return));
    return steps.some((each) => {
      if (each.call > earliest) return false;
      const next = register.step(held, each);
      return (
        next !== undefined &&
        isExplained(
          steps.filter((other) => other !== each),
          next,
        )
      );
    });
  }

  it('has the same result as trying all orders, for two thousand small random histories', () => {
    const random = seededRandom(7);
    const answers = Array.from({ length: 2000 }, () => {
      const steps = Array.from({ length: 6 }, (): Step => {
        const call = Math.floor(random() * 20);
        const isWrite = random() < 0.5;
        const isUnknown = isWrite && random() < 0.3;
        const digit = Math.floor(random() * 3);
        return {
          call,
          return: isUnknown ? Infinity : call + 1 + Math.floor(random() * 8),
          text: `${isWrite ? 'w' : 'r'}${digit}`,
        };
      });
      const expected = isExplained(steps, register.initial);
      expect(findUnexplained(steps, register) === undefined, JSON.stringify(steps)).to.equal(expected);
      return expected;
    });
    expect(answers.filter(Boolean).length, 'that are linearizable').to.be.within(400, 1600);
  });

  it('returns the response that no order explains, and the states that were possible', () => {
    const steps = [
      { call: 1, return: 2, text: 'w1' },
      { call: 3, return: 6, text: 'w2' },
      { call: 4, return: 5, text: 'r3' },
    ];
    expect(findUnexplained(steps, register)).to.deep.equal({ operation: steps[2], states: [{ digit: '1' }] });
  });
});
