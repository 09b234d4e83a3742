import { expect } from 'chai';
import { eventually } from './eventually.ts';
import { testPatienceMs } from './test-patience.ts';

describe('eventually', () => {
  it('returns the first truthy value', async () => {
    let asked = 0;
    expect(await eventually(() => (asked += 1) > 2 && `asked ${asked}`)).to.equal('asked 3');
  });

  it('continues when the condition throws', async () => {
    let asked = 0;
    await eventually(async () => expect((asked += 1)).to.equal(3));
    expect(asked).to.equal(3);
  });

  it('rejects after the time-out with a description of the condition and the last failure', async () => {
    const never = eventually(() => expect(1).to.equal(2), {
      timeoutMs: 10 / testPatienceMs(1),
      describe: () => 'one to be two',
    });
    const error = await never.then(
      () => undefined,
      (reason: unknown) => reason as Error,
    );
    expect(error?.message).to.match(/^waited 10 ms in vain for one to be two: expected 1 to equal 2$/);
    expect(error?.cause).to.be.instanceOf(Error);
  });
});
