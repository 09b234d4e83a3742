import { expect } from 'chai';
import { valuesWithout } from './values-without.ts';

describe('valuesWithout', () => {
  it('returns the values of the first list that are not in the second list', () => {
    const cases = [
      [[], [], []],
      [['a'], [], ['a']],
      [[], ['a'], []],
      [
        ['a', 'c', 'e'],
        ['b', 'c', 'd'],
        ['a', 'e'],
      ],
      // These values are in the order of code points, like the values of entries.
      [['\uff5e', '\u{1f600}'], ['\u{10000}'], ['\uff5e', '\u{1f600}']],
      [['\u{10000}', '\u{1f600}'], ['\uff5e', '\u{10000}'], ['\u{1f600}']],
    ] as const;
    for (const [values, others, expected] of cases) expect(valuesWithout(values, others)).to.deep.equal(expected);
  });

  it('reads each value of the second list fewer than five times on average', () => {
    const count = 1_000;
    const values = Array.from({ length: count }, (_, i) => `value-${i}`).sort();
    let reads = 0;
    const others = new Proxy([...values], {
      get: (target, field, receiver): unknown => {
        if (typeof field === 'string' && /^\d+$/.test(field)) reads += 1;
        return Reflect.get(target, field, receiver);
      },
    });
    expect(valuesWithout(values, others)).to.deep.equal([]);
    expect(reads).to.be.below(5 * count);
  });
});
