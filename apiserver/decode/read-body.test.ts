import { expect } from 'chai';
import { giveTogether } from './read-body.ts';

const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

describe('giveTogether', () => {
  let given: number[];

  beforeEach(() => {
    given = [];
  });

  function arrive(from: number, to: number): void {
    for (let number = from; number < to; number += 1) giveTogether(() => given.push(number), Buffer.alloc(1));
  }

  it('gives bodies to their readers at the end of the turn, 16 in each, in the order of their arrival', async () => {
    arrive(0, 40);
    expect(given).to.deep.equal([]);
    const counts: number[] = [];
    while (given.length < 40) {
      await nextTurn();
      counts.push(given.length);
    }
    expect(counts).to.deep.equal([16, 32, 40]);
    expect(given).to.deep.equal(Array.from({ length: 40 }, (_, number) => number));
  });

  it('gives a body that arrives while others wait after these others, and a later body in its own turn', async () => {
    arrive(0, 20);
    await nextTurn();
    arrive(20, 22);
    await nextTurn();
    expect(given).to.deep.equal(Array.from({ length: 22 }, (_, number) => number));
    arrive(22, 23);
    await nextTurn();
    expect(given).to.have.length(23);
  });
});
