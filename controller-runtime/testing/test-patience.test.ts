import { expect } from 'chai';
import { eventually } from './eventually.ts';
import { settle } from './settle.ts';
import { testPatienceMs } from './test-patience.ts';

const variable = 'HOMEOSTAT_TEST_TIME_FACTOR';

const messageOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'resolved',
    (error: unknown) => (error as Error).message,
  );

describe('the time for which tests wait', () => {
  const before = process.env[variable];

  afterEach(() => {
    if (before === undefined) delete process.env[variable];
    else process.env[variable] = before;
  });

  it('HOMEOSTAT_TEST_TIME_FACTOR multiplies the time, also in eventually and settle', async () => {
    process.env[variable] = '2.5';
    expect(testPatienceMs(100)).to.equal(250);
    const busy = { name: 'queue', isIdle: () => false };
    expect(await messageOf(eventually(() => false, { timeoutMs: 8 }))).to.match(/^waited 20 ms in vain/);
    expect(await messageOf(settle([busy], { timeoutMs: 8 }))).to.match(/^not settled within 20 ms/);
  });

  it('without HOMEOSTAT_TEST_TIME_FACTOR, tests wait for the given time', () => {
    delete process.env[variable];
    expect(testPatienceMs(100)).to.equal(100);
  });

  for (const text of ['', '0', '-1', 'six', 'Infinity'])
    it(`HOMEOSTAT_TEST_TIME_FACTOR is refused when it is "${text}"`, () => {
      process.env[variable] = text;
      expect(() => testPatienceMs(100)).to.throw(RangeError, `${variable} must be a positive number, not "${text}"`);
    });
});
