import { expect } from 'chai';
import { runSteps } from './steps.ts';
import type { Steps } from './steps.ts';

function* work(name: string, log: string[]): Steps<string> {
  log.push(`${name}1`);
  yield;
  log.push(`${name}2`);
  yield;
  return `${name} done`;
}

describe('runSteps', () => {
  it('runs all steps of short work without a pause', () => {
    const log: string[] = [];
    expect(runSteps(work('a', log), false)).to.equal('a done');
    expect(log).to.deep.equal(['a1', 'a2']);
  });

  it('runs the steps of long work in later turns of the event loop, with other work between them', async () => {
    const log: string[] = [];
    const all = Promise.all([runSteps(work('a', log), true), runSteps(work('b', log), true)]);
    expect(log).to.deep.equal([]);
    expect(await all).to.deep.equal(['a done', 'b done']);
    expect(log).to.deep.equal(['a1', 'b1', 'a2', 'b2']);
  });

  it('runs the remaining steps in later turns after a step has yielded `long`', async () => {
    const log: string[] = [];
    const growing = function* (): Steps<string> {
      log.push('short');
      yield;
      log.push('still short');
      yield 'long';
      log.push('long');
      return 'done';
    };
    const running = runSteps(growing(), false);
    expect(log).to.deep.equal(['short', 'still short']);
    expect(await running).to.equal('done');
    expect(log).to.deep.equal(['short', 'still short', 'long']);
  });

  it('rejects with the error that a step throws', async () => {
    const fail = function* (): Steps<never> {
      yield;
      throw new Error('broken');
    };
    const failed = await Promise.resolve(runSteps(fail(), true)).catch((error: unknown) => error);
    expect(failed).to.have.property('message', 'broken');
    expect(() => runSteps(fail(), false)).to.throw('broken');
  });
});
