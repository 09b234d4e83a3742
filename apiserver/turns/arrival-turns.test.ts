import { expect } from 'chai';
import { ArrivalTurns } from './arrival-turns.ts';
import { replaceTurnClock } from './next-turn.ts';

describe('ArrivalTurns', () => {
  let nowMs: number;
  let restore: () => void;

  beforeEach(() => {
    nowMs = 0;
    restore = replaceTurnClock(() => nowMs);
  });

  afterEach(() => restore());

  /** Passes `count` requests to `arrivals` at once. Each request takes a millisecond, and calls `handle`. */
  function arrive(arrivals: ArrivalTurns, count: number, handle: (number: number) => void): unknown[] {
    return Array.from({ length: count }, (_, number) =>
      arrivals.run(() => {
        nowMs += 1;
        handle(number);
      }),
    );
  }

  it('handles arrivals immediately until 5 ms of a turn are used, and the others in order, up to 5 ms in each later turn', async () => {
    const handled: number[] = [];
    const turns: number[] = [];
    let turn = 0;
    const all = arrive(new ArrivalTurns({ monotonicMs: () => nowMs }), 100, (number) => {
      handled.push(number);
      turns.push(turn);
    });
    expect(handled).to.have.length(5);
    const count = (): void => {
      turn += 1;
      if (handled.length < 100) setImmediate(count);
    };
    setImmediate(count);
    await Promise.all(all);
    expect(handled).to.deep.equal(Array.from({ length: 100 }, (_, number) => number));
    const later = turns.filter((at) => at > 0);
    expect(later).to.have.length(95);
    for (const each of new Set(later)) expect(later.filter((at) => at === each)).to.have.length.at.most(5);
  });

  it('handles an arrival immediately in a new turn, even if an earlier turn has used up its time', async () => {
    const arrivals = new ArrivalTurns({ monotonicMs: () => nowMs });
    arrive(arrivals, 5, () => undefined);
    await new Promise((resolve) => void setImmediate(resolve));
    let isHandled = false;
    arrivals.run(() => (isHandled = true));
    expect(isHandled).to.equal(true);
  });

  it('handles a new request only after the requests that already wait', async () => {
    const arrivals = new ArrivalTurns({ monotonicMs: () => nowMs });
    const order: number[] = [];
    const first = arrive(arrivals, 6, (number) => void order.push(number));
    const last = new Promise<unknown>((resolve) => {
      setImmediate(() => resolve(arrivals.run(() => order.push(6))));
    });
    await Promise.all([...first, last]);
    expect(order).to.deep.equal(Array.from({ length: 7 }, (_, number) => number));
  });
});
