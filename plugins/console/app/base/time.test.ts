import { expect } from 'chai';
import { formatMoment } from './time.ts';

describe('a moment in a sentence of the console', () => {
  it('is written as past (3m ago), as now, or as future (in 2h)', () => {
    const nowMs = Date.UTC(2030, 0, 1);
    const texts = [-180_000, 0, 7_200_000].map((ms) => formatMoment(nowMs + ms, nowMs));
    expect(texts).to.deep.equal(['3m ago', 'just now', 'in 2h']);
  });
});
