import { expect } from 'chai';
import { formatAge } from './format-age.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

describe('formatAge', () => {
  const ages: readonly (readonly [durationMs: number, text: string])[] = [
    [-2 * second, '<invalid>'],
    [-1 * second, '0s'],
    [0, '0s'],
    [999, '0s'],
    [119 * second, '119s'],
    [2 * minute, '2m'],
    [3 * minute + 20 * second, '3m20s'],
    [10 * minute + 59 * second, '10m'],
    [179 * minute, '179m'],
    [3 * hour, '3h'],
    [7 * hour + 5 * minute, '7h5m'],
    [8 * hour + 59 * minute, '8h'],
    [47 * hour, '47h'],
    [2 * day, '2d'],
    [4 * day + 3 * hour, '4d3h'],
    [8 * day + 3 * hour, '8d'],
    [729 * day, '729d'],
    [2 * year, '2y'],
    [2 * year + 20 * day, '2y20d'],
    [8 * year + 20 * day, '8y'],
  ];
  for (const [durationMs, text] of ages) {
    it(`shows ${durationMs} ms as ${text}`, () => expect(formatAge(durationMs)).to.equal(text));
  }
});
