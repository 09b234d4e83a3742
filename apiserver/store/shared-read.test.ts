import { expect } from 'chai';

import { SharedRead } from './shared-read.ts';

describe('SharedRead', () => {
  it('shares one read among all waiting callers; callers that come during a read share the next one', async () => {
    const finish: ((answer: number) => void)[] = [];
    const shared = new SharedRead(() => new Promise<number>((resolve) => finish.push(resolve)));
    const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    const first = [shared.get(), shared.get()];
    await turn();
    const second = [shared.get(), shared.get()];
    await turn();
    expect(finish).to.have.lengthOf(1);
    finish[0]?.(1);
    expect(await Promise.all(first)).to.deep.equal([1, 1]);
    await turn();
    finish[1]?.(2);
    expect(await Promise.all(second)).to.deep.equal([2, 2]);
    expect(finish).to.have.lengthOf(2);
  });

  it('starts a new read for the next call after a failed read', async () => {
    let reads = 0;
    const shared = new SharedRead(async () => {
      reads += 1;
      if (reads === 1) throw new Error('broken');
      return reads;
    });
    const failed = await shared.get().catch((error: unknown) => String(error));
    expect([failed, await shared.get()]).to.deep.equal(['Error: broken', 2]);
  });
});
