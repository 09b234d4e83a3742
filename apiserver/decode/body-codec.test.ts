import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { EventEmitter, once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { systemClock } from '@homeostat/controller-runtime';
import { FakeClock } from '@homeostat/controller-runtime/testing';
import { isApiError } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { BodyCodec } from './body-codec.ts';
import { decodeBody } from './decode-body.ts';
import type { BodyFormat } from './decode-body.ts';

/** The worker threads that are running. */
const workers = new Set<Worker>();

function onWorker(message: unknown): void {
  const { worker } = message as { readonly worker: Worker };
  workers.add(worker);
  worker.once('exit', () => workers.delete(worker));
}

/** Returns an object whose JSON has about `bytes` bytes. */
function objectOf(bytes: number): Record<string, unknown> {
  return { a: Array.from({ length: bytes / 16 }, (_, index) => `text ${index} é`), b: { c: null, d: 1.5 } };
}

async function messageOf(result: unknown): Promise<string> {
  const error: unknown = await Promise.resolve(result).catch((thrown: unknown) => thrown);
  return isApiError(error) ? `${error.code} ${error.message}` : String(error);
}

describe('BodyCodec', () => {
  let decoder: BodyCodec;

  before(() => subscribe('worker_threads', onWorker));

  after(() => unsubscribe('worker_threads', onWorker));

  beforeEach(() => {
    decoder = new BodyCodec(systemClock);
  });

  afterEach(() => decoder.close());

  async function decode(text: string, format: BodyFormat): Promise<unknown> {
    const body = await decoder.decode(Buffer.from(text), format);
    return body();
  }

  it('drops a waiting request when its client disconnects, and refuses a request whose client has already disconnected [slow]', async () => {
    const reader = Object.assign(new EventEmitter(), { closed: false });
    const bytes = Buffer.from(JSON.stringify(objectOf(600_000)));
    const first = Promise.resolve(decoder.decode(bytes, 'yaml'));
    let isFirstDone = false;
    void first.then(() => (isFirstDone = true));
    const dropped = messageOf(decoder.decode(bytes, 'yaml', reader));
    reader.emit('close');
    expect(await dropped).to.equal('400 the client disconnected before its body was decoded');
    expect(isFirstDone).to.equal(false);
    expect(await messageOf(decoder.decode(bytes, 'yaml', Object.assign(reader, { closed: true })))).to.match(/^400 /);
    expect((await first)()).to.deep.equal(objectOf(600_000));
    expect(reader.listenerCount('close')).to.equal(0);
  });

  for (const [bytes, tier] of [
    [1_000, ''],
    [20_000, ''],
    [100_000, ''],
    [600_000, ' [slow]'],
  ] as const) {
    it(`decodes a body of ${bytes} bytes to a function that returns a new copy of the value at each call${tier}`, async () => {
      const value = objectOf(bytes);
      const text = JSON.stringify(value);
      for (const format of ['json', 'yaml', 'applied'] as const) {
        const body = await decoder.decode(Buffer.from(text), format);
        expect(body()).to.deep.equal(value);
        expect(body()).to.not.equal(body());
        expect(body.isLarge ?? false, format).to.equal(bytes > 64 * 1024 || (format !== 'json' && bytes > 16 * 1024));
      }
    });
  }

  it('refuses large bodies in the worker thread with the same messages as in the main thread', async () => {
    const large = ' '.repeat(300_000);
    const wrong: readonly (readonly [string, BodyFormat])[] = [
      ['{"a":1,"a":2}', 'json'],
      ['{"a":', 'json'],
      ['a: &x [*x]', 'yaml'],
      ['a: 1\n---\nb: 2', 'yaml'],
      ['[1, 2', 'applied'],
    ];
    for (const [text, format] of wrong) {
      let here = '';
      try {
        decodeBody(Buffer.from(`${text}\n${large}`), format);
      } catch (error) {
        here = isApiError(error) ? `${error.code} ${error.message}` : String(error);
      }
      expect(here).to.match(/^400 /);
      expect(await messageOf(decode(`${text}\n${large}`, format))).to.equal(here);
    }
    expect(await messageOf(decoder.decode(Buffer.alloc(300_000, 0xff), 'json'))).to.equal(
      '400 the body is not valid UTF-8',
    );
  });

  it('refuses a body that needs more memory than the worker thread has, and decodes the next body [slow]', async () => {
    const greedy = new BodyCodec(systemClock, { maxHeapMb: 24 });
    try {
      const answer = messageOf(greedy.decode(Buffer.from(`a: [${'[],'.repeat(900_000)}]`), 'yaml'));
      const next = greedy.decode(Buffer.from(JSON.stringify(objectOf(300_000))), 'json');
      expect(await answer).to.equal('413 Request entity too large: it takes too much memory');
      expect((await next)()).to.deep.equal(objectOf(300_000));
    } finally {
      await greedy.close();
    }
  });

  it('ends its worker thread after ten idle seconds', async () => {
    const clock = new FakeClock();
    const idle = new BodyCodec(clock);
    await idle.decode(Buffer.from(JSON.stringify(objectOf(300_000))), 'json');
    const [worker] = workers;
    expect(workers.size).to.equal(1);
    await Promise.all([once(worker!, 'exit'), clock.advance(10_000)]);
    expect(workers.size).to.equal(0);
    expect((await idle.decode(Buffer.from(JSON.stringify(objectOf(300_000))), 'json'))()).to.have.keys('a', 'b');
    await idle.close();
  });

  it('refuses waiting requests when it is closed', async () => {
    const body = Buffer.from(JSON.stringify(objectOf(300_000)));
    const answers = Promise.all(
      [decoder.decode(body, 'json'), decoder.decode(body, 'json')].map((each) => messageOf(each)),
    );
    await decoder.close();
    const closed = '503 the server is shutting down';
    expect(await answers).to.deep.equal([closed, closed]);
    expect(await messageOf(decoder.decode(body, 'json'))).to.equal(closed);
  });
});
