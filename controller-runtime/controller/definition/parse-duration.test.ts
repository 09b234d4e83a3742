import { expect } from 'chai';
import { parseDuration } from './parse-duration.ts';

describe('parseDuration', () => {
  it('parses numbers of milliseconds, and texts of one or more numbers with units', () => {
    const cases = {
      '10m': 600_000,
      '30s': 30_000,
      '250ms': 250,
      '1.5h': 5_400_000,
      '1h30m': 5_400_000,
      '2d': 172_800_000,
      '0s': 0,
    };
    for (const [text, ms] of Object.entries(cases)) expect(parseDuration(text), text).to.equal(ms);
    expect(parseDuration(42)).to.equal(42);
    expect(parseDuration(0)).to.equal(0);
  });

  it('refuses a text or a number that is not a duration', () => {
    for (const bad of ['', '10', 'm', '10 m', '-5s', '10m!', '1.m', '1e3s', 'm10', '9'.repeat(200) + 's']) {
      expect(() => parseDuration(bad), bad).to.throw(RangeError);
    }
    for (const bad of [-1, NaN, Infinity, undefined as never, null as never, {} as never]) {
      expect(() => parseDuration(bad), String(bad)).to.throw(RangeError);
    }
  });
});
