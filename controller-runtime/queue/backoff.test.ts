import { expect } from 'chai';
import { Backoff } from './backoff.ts';

describe('back-off', () => {
  it('doubles the delay with each failure, from the base to the maximum', () => {
    const backoff = new Backoff({ baseMs: 10, maxMs: 100 });
    const delays = [1, 2, 3, 4, 5, 1023, 1024, 1e308].map((failures) => backoff.delayMs(failures, 0));
    expect(delays).to.deep.equal([10, 20, 40, 80, 100, 100, 100, 100]);
  });

  it('allows a burst of retries at once, and then limits the rate of retries of all keys', () => {
    const backoff = new Backoff({ perSecond: 10, burst: 3 });
    const delays = Array.from({ length: 6 }, () => backoff.delayMs(1, 5000));
    expect(delays).to.deep.equal([5, 5, 5, 100, 200, 300]);
  });

  it('uses the longer of two delays: the delay of the key and the delay of the rate limit', () => {
    const backoff = new Backoff({ perSecond: 10, burst: 1 });
    expect([backoff.delayMs(7, 0), backoff.delayMs(7, 0), backoff.delayMs(1, 0)]).to.deep.equal([320, 320, 200]);
  });

  it('allows a new burst after a time without failures, up to the size of the burst', () => {
    const backoff = new Backoff({ perSecond: 10, burst: 2 });
    for (let failure = 0; failure < 4; failure += 1) backoff.delayMs(1, 0);
    expect(backoff.delayMs(1, 200)).to.equal(100);
    const later = Array.from({ length: 3 }, () => backoff.delayMs(1, 1_000_000));
    expect(later).to.deep.equal([5, 5, 100]);
  });

  it('never delays by more than the maximum, for any number of failures', () => {
    const backoff = new Backoff({ perSecond: 10, burst: 1, maxMs: 1000 });
    const delays = Array.from({ length: 50 }, () => backoff.delayMs(1, 0));
    expect(Math.max(...delays)).to.equal(1000);
    expect(backoff.delayMs(1, 1000)).to.equal(100);
  });

  it('refuses an invalid delay or rate, and names the option', () => {
    for (const [option, values] of Object.entries({
      baseMs: [0, -1, Number.NaN, Infinity],
      maxMs: [4, Number.NaN, Infinity],
      perSecond: [0, -1, Number.NaN],
      burst: [0, 1.5, Number.NaN],
    })) {
      for (const value of values) expect(() => new Backoff({ [option]: value })).to.throw(RangeError, option);
    }
  });
});
