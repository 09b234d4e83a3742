import { expect } from 'chai';
import { formatMoment } from './time.ts';

describe('a moment in a sentence of the console', () => {
  it('is in the past, now, or in the future', () => {
    const nowMs = Date.UTC(2030, 0, 1);
    const texts = [-180_000, 0, 7_200_000].map((ms) => formatMoment(nowMs + ms, nowMs));
    expect(texts).to.deep.equal(['3m ago', 'just now', 'in 2h']);
  });
});
