import { expect } from 'chai';
import { Slots } from './slots.ts';

describe('Slots', () => {
  it('runs at most as many calls at a time as it has slots, and starts the waiting calls in the order in which they came [spec operators-webhook-slots]', async () => {
    const slots = new Slots(1);
    const order: string[] = [];
    const ends: (() => void)[] = [];
    const { signal } = new AbortController();
    const runs = ['a', 'b', 'c'].map(async (name) =>
      slots.run(signal, async () => {
        order.push(name);
        await new Promise<void>((resolve) => void ends.push(resolve));
      }),
    );
    for (const expected of [['a'], ['a', 'b'], ['a', 'b', 'c']]) {
      expect(order).to.deep.equal(expected);
      ends.shift()?.();
      await runs[expected.length - 1];
      await Promise.resolve();
    }
  });

  it('drops a call that waits for a slot when its signal aborts, and gives the next free slot to another call', async () => {
    const slots = new Slots(1);
    const abort = new AbortController();
    let end = (): void => undefined;
    const { signal } = new AbortController();
    const first = slots.run(signal, () => new Promise<void>((resolve) => void (end = resolve)));
    const left = slots.run(abort.signal, async () => 'left').catch((error: unknown) => error);
    const next = slots.run(signal, async () => 'next');
    abort.abort(new Error('too late'));
    expect(await left).to.have.property('message', 'too late');
    end();
    await first;
    expect(await next).to.equal('next');
  });
});
