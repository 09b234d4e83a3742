import { expect } from 'chai';
import { TurnQueue } from './turn-queue.ts';
import type { Purpose } from './turn-queue.ts';

describe('TurnQueue', () => {
  let nowMs: number;
  let queue: TurnQueue;
  let log: string[];

  beforeEach(() => {
    nowMs = 0;
    queue = new TurnQueue(() => nowMs);
    log = [];
  });

  interface Work {
    readonly name: string;
    readonly steps: number;
    readonly stepMs: number;
    readonly purpose?: Purpose;
  }

  async function work({ name, steps, stepMs, purpose = 'request' }: Work): Promise<void> {
    for (let step = 0; step < steps; step += 1) {
      await queue.next(purpose);
      log.push(name);
      nowMs += stepMs;
    }
  }

  /** Waits for the end of all work. Returns the names of the steps that ran in each turn of the event loop. */
  async function turnsOf(works: readonly Promise<void>[]): Promise<string[]> {
    let isOver = false;
    const mark = (): void => {
      log.push('|');
      if (!isOver) setImmediate(mark);
    };
    setImmediate(mark);
    await Promise.all(works);
    isOver = true;
    return log
      .join('')
      .split('|')
      .filter((turn) => turn !== '');
  }

  it('runs waiting steps in order, in each turn of the event loop until 5 ms are used', async () => {
    const names = 'abcdefgh'.split('');
    const turns = await turnsOf(names.map((name) => work({ name, steps: 1, stepMs: 2 })));
    expect(turns).to.deep.equal(['abc', 'def', 'gh']);
  });

  it('runs the first steps of all pieces of work, then their second steps, and so on', async () => {
    const turns = await turnsOf(['a', 'b', 'c'].map((name) => work({ name, steps: 3, stepMs: 5 })));
    expect(turns).to.deep.equal('abcabcabc'.split(''));
  });

  it('runs no other step in a turn whose step took 5 ms, even if that step began several microtasks after next() resolved', async () => {
    const deep = async (name: string): Promise<void> => {
      await (async () => (async () => queue.next('request'))())();
      await Promise.resolve();
      log.push(name);
      nowMs += 5;
    };
    expect(await turnsOf([deep('a'), deep('b')])).to.deep.equal(['a', 'b']);
  });

  it('gives requests and background work equal shares of the time, however many requests wait', async () => {
    const requests = Array.from({ length: 50 }, () => work({ name: 'r', steps: 20, stepMs: 1 }));
    const background = work({ name: 'b', steps: 20, stepMs: 10, purpose: 'background' });
    const all = turnsOf([...requests, background]);
    await background;
    const done = log.filter((each) => each === 'r').length;
    expect(done).to.be.within(180, 220);
    await all;
  });

  it('gives upkeep 1 ms of each turn, and other waiting steps the rest of the turn', async () => {
    const works = [
      work({ name: 'u', steps: 6, stepMs: 0.5, purpose: 'upkeep' }),
      work({ name: 'r', steps: 12, stepMs: 1 }),
    ];
    const turns = await turnsOf(works);
    expect(turns.map((turn) => turn.split('').sort().join(''))).to.deep.equal(['rrrruu', 'rrrruu', 'rrrruu']);
  });

  it('runs upkeep for only 1 ms of each turn, even if no other work waits', async () => {
    const turns = await turnsOf([work({ name: 'u', steps: 5, stepMs: 0.5, purpose: 'upkeep' })]);
    expect(turns).to.deep.equal(['uu', 'uu', 'u']);
  });

  it('alternates requests and background work, even after a time with only background work', async () => {
    await work({ name: 'b', steps: 100, stepMs: 5, purpose: 'background' });
    log = [];
    const steps = { steps: 4, stepMs: 5 };
    await turnsOf([work({ name: 'r', ...steps }), work({ name: 'b', ...steps, purpose: 'background' })]);
    expect(log.filter((each) => each !== '|').join('')).to.not.match(/rrr|bbb/);
  });
});
