import { expect } from 'chai';
import { person } from '../client/example-person.fixture.ts';
import { IndexFilling } from './index-filling.ts';

describe('the filling of the indexes of a cache', () => {
  const states = Array.from({ length: 1000 }, (_, index) => ({ key: `p${index}`, object: person(`p${index}`, '1') }));

  it('ends its work in a turn of the event loop after 1 ms, or after 200 objects', () => {
    let nowMs = 0;
    let msOfOne = 0;
    const put: string[] = [];
    const filling = new IndexFilling(states, ({ key }) => {
      nowMs += msOfOne;
      put.push(key);
    });
    const clock = { monotonicMs: () => nowMs };
    expect(filling.putSome(clock)).to.equal(true);
    expect(put).to.have.length(200);
    msOfOne = 0.4;
    expect(filling.putSome(clock)).to.equal(true);
    expect(put).to.have.length(203);
    msOfOne = 30;
    expect(filling.putSome(clock)).to.equal(true);
    expect(put).to.have.length(204);
    filling.putAll();
    expect(put).to.deep.equal(states.map(({ key }) => key));
    expect(filling.putSome(clock)).to.equal(false);
  });

  it('continues in a later turn of the event loop with an object that takes several steps to read', () => {
    let nowMs = 0;
    const put: string[] = [];
    function* steps(): Generator<(typeof states)[number] | undefined> {
      for (const state of states.slice(0, 2)) {
        for (let step = 0; step < 3; step += 1) {
          nowMs += 0.6;
          yield undefined;
        }
        yield state;
      }
    }
    const filling = new IndexFilling(steps(), ({ key }) => put.push(key));
    const clock = { monotonicMs: () => nowMs };
    const turns: number[] = [];
    while (filling.putSome(clock)) turns.push(put.length);
    expect(turns).to.deep.equal([0, 1, 1]);
    expect(put).to.deep.equal(['p0', 'p1']);
  });
});
