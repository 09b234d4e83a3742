import { expect } from 'chai';
import { ArrivalTurns } from './arrival-turns.ts';
import { replaceTurnClock } from './next-turn.ts';

describe('ArrivalTurns', () => {
  it('handles some arrivals at once, and the rest in order, in turns of a few milliseconds', async () => {
    let nowMs = 0;
    const restore = replaceTurnClock(() => nowMs);
    try {
      const arrivals = new ArrivalTurns();
      const handled: number[] = [];
      const turns: number[] = [];
      let turn = 0;
      const all = Array.from({ length: 100 }, (_, number) =>
        arrivals.run(() => {
          nowMs += 1;
          handled.push(number);
          turns.push(turn);
        }),
      );
      expect(handled).to.have.length(16);
      const count = (): void => {
        turn += 1;
        if (handled.length < 100) setImmediate(count);
      };
      setImmediate(count);
      await Promise.all(all);
      expect(handled).to.deep.equal(Array.from({ length: 100 }, (_, number) => number));
      const later = turns.filter((at) => at > 0);
      expect(later).to.have.length(84);
      for (const each of new Set(later)) expect(later.filter((at) => at === each)).to.have.length.at.most(5);
    } finally {
      restore();
    }
  });

  it('a later turn has room again', async () => {
    const arrivals = new ArrivalTurns();
    for (let number = 0; number < 16; number += 1) arrivals.run(() => undefined);
    await new Promise((resolve) => void setImmediate(resolve));
    let isHandled = false;
    arrivals.run(() => (isHandled = true));
    expect(isHandled).to.equal(true);
  });

  it('an arrival does not overtake those that wait', async () => {
    const arrivals = new ArrivalTurns();
    const order: number[] = [];
    const first = Array.from({ length: 17 }, (_, number) => arrivals.run(() => order.push(number)));
    const last = new Promise<unknown>((resolve) => {
      setImmediate(() => resolve(arrivals.run(() => order.push(17))));
    });
    await Promise.all([...first, last]);
    expect(order).to.deep.equal(Array.from({ length: 18 }, (_, number) => number));
  });
});
