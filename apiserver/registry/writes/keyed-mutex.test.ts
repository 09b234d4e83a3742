import { expect } from 'chai';
import { KeyedMutex } from './keyed-mutex.ts';

describe('KeyedMutex', () => {
  it('runs the work for one key in order, one call at a time, even after a failure', async () => {
    const mutex = new KeyedMutex();
    const log: string[] = [];
    let running = 0;
    const work = (name: string) => async (): Promise<void> => {
      running += 1;
      expect(running).to.equal(1);
      await Promise.resolve();
      log.push(name);
      running -= 1;
      if (name === 'b') throw new Error('b fails');
    };
    const results = await Promise.allSettled(['a', 'b', 'c'].map((name) => mutex.run('key', work(name))));
    expect(log).to.deep.equal(['a', 'b', 'c']);
    expect(results.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('does not block work for other keys, and removes a key when its work has ended', async () => {
    const mutex = new KeyedMutex();
    let release = (): void => undefined;
    const held = mutex.run('held', () => new Promise<void>((resolve) => (release = resolve)));
    expect(await mutex.run('other', () => Promise.resolve(1))).to.equal(1);
    expect(mutex.size).to.equal(1);
    release();
    await held;
    expect(mutex.size).to.equal(0);
  });
});
