import { EventEmitter } from 'node:events';
import type { ServerResponse as Outgoing } from 'node:http';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import type { PieceSource } from './answer.ts';
import { AnswerStream } from './answer-stream.ts';
import type { Pieces } from '../routes/server-response.ts';

/** The server's end of a connection. The test decides when the client reads. */
class HeldConnection extends EventEmitter {
  readonly written: unknown[] = [];
  destroyed = false;
  ended = false;
  writableFinished = false;
  takes = 0;

  flushHeaders(): void {}

  write(piece: unknown): boolean {
    this.written.push(piece);
    return this.written.length < this.takes;
  }

  end(): void {
    this.ended = true;
  }

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }

  /** Lets the client read `pieces` more pieces. */
  read(pieces: number): void {
    this.takes = this.written.length + pieces;
    this.emit('drain');
  }
}

describe('a streamed response', () => {
  let connection: HeldConnection;
  let aborted: Error[];
  let errors: unknown[];
  let ends: number;

  beforeEach(() => {
    connection = new HeldConnection();
    aborted = [];
    errors = [];
    ends = 0;
  });

  function start(pieces: Pieces<unknown>, options: Partial<PieceSource> = {}): AnswerStream {
    const stream = new AnswerStream({
      outgoing: connection as unknown as Outgoing,
      source: { pieces, encode: (piece) => piece as string, mayEndEarly: false, ...options },
      abort: (reason) => aborted.push(reason),
      onError: (error) => errors.push(error),
      onEnd: () => (ends += 1),
    });
    void stream.run();
    return stream;
  }

  /**
   * Returns a generator of `count` pieces. `asked` counts the pieces that the stream requested, and `returned` is true
   * once the generator has ended or the stream has closed it.
   */
  function counting(count: number): { asked: number; returned: boolean; pieces: AsyncGenerator<string> } {
    const seen = { asked: 0, returned: false, pieces: undefined as unknown as AsyncGenerator<string> };
    seen.pieces = (async function* produce() {
      try {
        for (let index = 0; index < count; index += 1) {
          seen.asked += 1;
          yield `piece ${index}`;
        }
      } finally {
        seen.returned = true;
      }
    })();
    return seen;
  }

  /** Lets the stream do all its work, up to the point where it waits for the client to read. */
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };

  it('requests from the producer at most one piece more than the client reads', async () => {
    const producer = counting(100);
    start(producer.pieces);
    await turns();
    expect(producer.asked).to.equal(1);
    connection.read(10);
    await turns();
    expect(producer.asked).to.equal(11);
    connection.read(1000);
    await eventually(() => connection.ended);
    expect(connection.written).to.have.length(100);
    expect(ends).to.equal(1);
    expect(aborted).to.deep.equal([]);
  });

  it('accepts sync iterables and ReadableStreams, and pulls only one piece before the client reads', async () => {
    let pulled = 0;
    const readable = new ReadableStream<string>(
      { pull: (controller) => controller.enqueue(`piece ${(pulled += 1)}`) },
      { highWaterMark: 0 },
    );
    start(readable);
    await turns();
    expect(pulled).to.equal(1);
    connection = new HeldConnection();
    connection.takes = 10;
    start(['a', 'b']);
    await eventually(() => connection.ended);
    expect(connection.written).to.deep.equal(['a', 'b']);
  });

  it('cancels the producer of the pieces when the client disconnects', async () => {
    const producer = counting(100);
    start(producer.pieces);
    await turns();
    connection.emit('close');
    await eventually(() => producer.returned);
    expect(producer.asked).to.equal(1);
    expect(aborted.map(({ message }) => message)).to.deep.equal(['the client has disconnected']);
    expect(errors).to.deep.equal([]);
    expect(ends).to.be.greaterThan(0);
    expect(connection.ended).to.equal(false);
  });

  it('cancels a ReadableStream immediately when the client disconnects, even during a read', async () => {
    let cancelled = false;
    start(
      new ReadableStream<string>({
        pull: async () => new Promise(() => undefined),
        cancel: () => void (cancelled = true),
      }),
    );
    await turns();
    connection.emit('close');
    await eventually(() => cancelled);
  });

  it('closes the connection when the producer fails, so that the client sees that the response is incomplete', async () => {
    const failure = new Error('broken');
    connection.takes = 10;
    start(
      (async function* produce() {
        yield 'a';
        throw failure;
      })(),
    );
    await eventually(() => connection.destroyed);
    expect(errors).to.deep.equal([failure]);
    expect(connection.ended).to.equal(false);
  });

  it('closes the connection and cancels the producer of the pieces when a piece cannot be encoded', async () => {
    const producer = counting(3);
    connection.takes = 10;
    start(producer.pieces, {
      encode: () => {
        throw new TypeError('no piece');
      },
    });
    await eventually(() => producer.returned);
    expect(connection.destroyed).to.equal(true);
    expect(errors).to.have.length(1);
  });

  it('closes its connection on stop(), or ends normally on stop() if its source has mayEndEarly', async () => {
    const cut = counting(100);
    const stream = start(cut.pieces);
    await turns();
    stream.stop(new Error('stopped'));
    await eventually(() => cut.returned);
    expect(connection.destroyed).to.equal(true);
    expect(aborted.map(({ message }) => message)).to.deep.equal(['stopped']);

    connection = new HeldConnection();
    const ended = counting(100);
    const events = start(ended.pieces, { mayEndEarly: true });
    await turns();
    events.stop(new Error('stopped'));
    await eventually(() => ended.returned);
    expect(connection).to.include({ ended: true, destroyed: false });
    expect(connection.listenerCount('close')).to.equal(0);
  });
});
