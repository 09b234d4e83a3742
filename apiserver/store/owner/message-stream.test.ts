import { Transform } from 'node:stream';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { MessageStream } from './message-stream.ts';

/** Returns a stream that sends back the written bytes, in chunks of this size. */
function echoInChunks(size: number): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      for (let from = 0; from < chunk.length; from += size) this.push(chunk.subarray(from, from + size));
      done();
    },
  });
}

describe('a stream of messages', () => {
  for (const size of [1, 5, 65_536]) {
    it(`returns the same messages when they arrive in chunks of ${size} bytes`, async () => {
      const sent = [
        { id: 1, answer: undefined },
        {
          id: 2,
          bytes: Uint8Array.from({ length: 3_000 }, (_, at) => at % 256).buffer,
          numbers: new Float64Array([1, NaN]),
        },
        { id: 3, text: '\u0000\ud800 ä' },
        ...Array.from({ length: 20 }, (_, id) => ({ id })),
      ];
      const received: unknown[] = [];
      const messages = new MessageStream(echoInChunks(size), {
        onMessage: (message) => received.push(message),
        onClose: () => undefined,
      });
      for (const message of sent) messages.send(message);
      await eventually(() => received.length === sent.length);
      expect(received).to.deep.equal(sent);
      messages.destroy();
    });
  }

  it('reports its end once, with the reason, and drops later messages', async () => {
    const closed: (Error | undefined)[] = [];
    const stream = echoInChunks(5);
    const messages = new MessageStream(stream, {
      onMessage: () => undefined,
      onClose: (error) => closed.push(error),
    });
    const reason = new Error('broken');
    stream.destroy(reason);
    await eventually(() => closed.length > 0);
    messages.send({ id: 1 });
    expect(closed).to.deep.equal([reason]);
  });
});
