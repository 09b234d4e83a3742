import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { withDeadline } from './deadline.ts';

describe('withDeadline', () => {
  const never = async (): Promise<never> => new Promise<never>(() => undefined);
  const failure = async (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'resolved',
      (error: unknown) => (error as Error).message,
    );

  it('resolves with the result of the work, and leaves no timer', async () => {
    const clock = new FakeClock();
    expect(await withDeadline(() => 7, { what: 'x', timeoutMs: 1000, clock })).to.equal(7);
    expect(clock.pendingTimers).to.equal(0);
  });

  it('rejects with the error of work that throws synchronously', async () => {
    const work = (): never => {
      throw new Error('no');
    };
    expect(await failure(withDeadline(work, { what: 'x', timeoutMs: 1000, clock: new FakeClock() }))).to.equal('no');
  });

  it('rejects at the time limit, not before it', async () => {
    const clock = new FakeClock();
    let hasEnded = false;
    const waiting = failure(withDeadline(never, { what: 'start', timeoutMs: 30_000, clock })).finally(() => {
      hasEnded = true;
    });
    await clock.advance(29_999);
    expect(hasEnded).to.equal(false);
    await clock.advance(1);
    expect(await waiting).to.equal('start has not ended within 30 s');
  });

  it('rejects when the signal aborts', async () => {
    const clock = new FakeClock();
    const controller = new AbortController();
    const waiting = failure(withDeadline(never, { what: 'x', timeoutMs: 1000, clock, signal: controller.signal }));
    controller.abort(new Error('enough'));
    expect(await waiting).to.equal('enough');
    expect(clock.pendingTimers).to.equal(0);
  });
});
