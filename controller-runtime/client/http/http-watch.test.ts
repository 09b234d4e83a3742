import { expect } from 'chai';
import { isExpired, reasonOf } from '../../api/index.ts';
import type { WatchEvent } from '../../api/index.ts';
import { eventually } from '../../testing/eventually.ts';
import type { Client, WatchOptions } from '../client.ts';
import { Person, person, personList, personsPath } from '../example-person.fixture.ts';
import { createClient } from '../../create-client.ts';
import { RecordingClock } from '../recording-clock.fixture.ts';
import { createRecordingLogger } from '../recording-logger.fixture.ts';
import { ScriptedServer, watchLine } from '../scripted-server.fixture.ts';
import type { ScriptedStream } from '../scripted-server.fixture.ts';

type Event = WatchEvent<Person>;

const bookmarkOf = (resourceVersion: string) =>
  watchLine('BOOKMARK', { apiVersion: 'people.example.com/v1alpha1', kind: 'Person', metadata: { resourceVersion } });

const expired = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', reason: 'Expired', code: 410 };

const summary = (event: Event | undefined): string => {
  if (event === undefined || event.type === 'ERROR') return String(event?.type);
  const { resourceVersion, ...metadata } = event.object.metadata;
  return `${event.type} ${'name' in metadata ? `${metadata.name}@` : ''}${resourceVersion}`;
};

describe('watch over HTTP', () => {
  let clock: RecordingClock;
  let logger: ReturnType<typeof createRecordingLogger>;
  let server: ScriptedServer;
  let client: Client;
  let stop: AbortController;
  let running: Promise<unknown>[];

  beforeEach(async () => {
    clock = new RecordingClock();
    logger = createRecordingLogger();
    server = await ScriptedServer.start();
    // With the largest random number, the jitter does not shorten the delay.
    client = createClient(server.url, { clock, logger, random: () => 1 });
    stop = new AbortController();
    running = [];
  });

  afterEach(async () => {
    stop.abort();
    await Promise.all(running);
    await server.close();
    expect(clock.pendingTimers).to.equal(0);
  });

  /**
   * Collects the events of a watch. `failure` is the error of the watch, and `done` is true when the watch has ended.
   */
  const collect = (options: WatchOptions) => {
    const seen = { events: [] as string[], raw: [] as Event[], failure: undefined as unknown, done: false };
    const run = async (): Promise<void> => {
      for await (const event of client.watch(Person, { signal: stop.signal, ...options })) {
        seen.raw.push(event);
        seen.events.push(summary(event));
      }
    };
    running.push(
      run()
        .catch((error: unknown) => (seen.failure = error))
        .finally(() => (seen.done = true)),
    );
    return seen;
  };

  const opened = async (stream: ScriptedStream): Promise<URLSearchParams> =>
    new URL((await stream.opened).path, server.url).searchParams;

  /** Waits until the watch backs off for this time, and then lets the time pass. */
  const passDelay = async (delayMs: number): Promise<void> => {
    await eventually(() => clock.delaysMs.includes(delayMs), { describe: () => `${delayMs} in ${clock.delaysMs}` });
    clock.delaysMs.length = 0;
    await clock.advance(delayMs);
  };

  it('waits before the next attempt for half of the back-off delay and a random part of the other half', async () => {
    const answers = [0, 0.5];
    client = createClient(server.url, { clock, logger, random: () => answers.shift() ?? 1 });
    for (let opens = 0; opens < 3; opens += 1) server.answer({ status: 503 });
    const stream = server.stream();
    collect({ resourceVersion: '4' });
    for (const delayMs of [400, 1200, 3200]) await passDelay(delayMs);
    await stream.opened;
  });

  it('always requests bookmarks, but yields them only if allowBookmarks is true', async () => {
    const first = server.stream();
    const without = collect({ resourceVersion: '4', labelSelector: 'a=b' });
    const query = await opened(first);
    expect(Object.fromEntries(query)).to.deep.equal({
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: '4',
      labelSelector: 'a=b',
    });
    const second = server.stream();
    const withBookmarks = collect({ resourceVersion: '4', allowBookmarks: true });
    await second.opened;
    for (const stream of [first, second]) stream.write(bookmarkOf('5') + watchLine('ADDED', person('a', '6')));
    await eventually(() => without.events.length === 1 && withBookmarks.events.length === 2);
    expect(without.events).to.deep.equal(['ADDED a@6']);
    expect(withBookmarks.events).to.deep.equal(['BOOKMARK 5', 'ADDED a@6']);
  });

  it('yields complete, frozen events in order, however the bytes are divided into chunks', async () => {
    const stream = server.stream();
    const seen = collect({ resourceVersion: '4' });
    await stream.opened;
    const text = ['é', 'ü']
      .map((name, at) => watchLine('MODIFIED', person('a', `${5 + at}`, { spec: { name } })))
      .join('\n');
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += 7) {
      stream.write(bytes.subarray(at, at + 7));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await eventually(() => seen.events.length === 2);
    expect(seen.raw.map((event) => (event.type === 'MODIFIED' ? event.object.spec.name : ''))).to.deep.equal([
      'é',
      'ü',
    ]);
    expect(Object.isFrozen(seen.raw[0]?.object.metadata)).to.equal(true);
  });

  it('resumes at the last revision at once when the server ends the watch', async () => {
    const first = server.stream();
    const second = server.stream();
    const seen = collect({ resourceVersion: '4' });
    await first.opened;
    first.write(`\n${watchLine('ADDED', person('a', '6'))}${bookmarkOf('9')}`);
    first.end();
    expect((await opened(second)).get('resourceVersion')).to.equal('9');
    second.write(watchLine('DELETED', person('a', '12')));
    await eventually(() => seen.events.length === 2);
    expect(seen.events).to.deep.equal(['ADDED a@6', 'DELETED a@12']);
    expect(logger.entries).to.deep.equal([]);
  });

  it('drops an incomplete line when the connection breaks, and receives the event after it has reconnected', async () => {
    const first = server.stream();
    const second = server.stream();
    const seen = collect({ resourceVersion: '4' });
    await first.opened;
    const cutLine = watchLine('MODIFIED', person('b', '7')).slice(0, 40);
    first.write(watchLine('ADDED', person('a', '6')) + cutLine);
    await eventually(() => seen.events.length === 1);
    first.cut();
    await passDelay(800);
    expect((await opened(second)).get('resourceVersion')).to.equal('6');
    second.write(watchLine('MODIFIED', person('b', '7')));
    await eventually(() => seen.events.length === 2);
    expect(seen.events).to.deep.equal(['ADDED a@6', 'MODIFIED b@7']);
  });

  it('treats a response that ends in the middle of a line as a broken connection', async () => {
    const first = server.stream();
    const second = server.stream();
    collect({ resourceVersion: '4' });
    await first.opened;
    first.write(watchLine('ADDED', person('a', '6')).trimEnd());
    first.end();
    await passDelay(800);
    expect((await opened(second)).get('resourceVersion')).to.equal('4');
  });

  it('reconnects after 800 ms, doubled by each failure up to 30 s, and again after 800 ms once 2 minutes passed without failure', async () => {
    for (let answer = 0; answer < 7; answer += 1) server.answer({ status: 500 });
    const [hasty, calm, last] = [server.stream(), server.stream(), server.stream()];
    const seen = collect({ resourceVersion: '4' });
    for (const delayMs of [800, 1600, 3200, 6400, 12_800, 25_600, 30_000]) await passDelay(delayMs);
    await hasty.opened;
    hasty.write(watchLine('ADDED', person('a', '6')));
    await eventually(() => seen.events.length === 1);
    hasty.cut();
    await passDelay(30_000);
    await calm.opened;
    for (const revision of [7, 8, 9]) {
      calm.write(watchLine('MODIFIED', person('a', `${revision}`)));
      await eventually(() => seen.events.at(-1) === `MODIFIED a@${revision}`);
      await clock.advance(50_000);
    }
    calm.cut();
    await passDelay(800);
    await last.opened;
  });

  it('waits for the time in the Retry-After of a response 429', async () => {
    server.answer({ status: 429, headers: { 'retry-after': '5' } });
    const stream = server.stream();
    collect({ resourceVersion: '4' });
    await passDelay(5000);
    await stream.opened;
  });

  it('waits before it reconnects when the server ends a watch as soon as the watch begins', async () => {
    const first = server.stream();
    const second = server.stream();
    collect({ resourceVersion: '4' });
    await first.opened;
    first.end();
    await passDelay(800);
    await second.opened;
  });

  it('reconnects when no byte arrives for two minutes, not even a heartbeat', async () => {
    const first = server.stream();
    const second = server.stream();
    collect({ resourceVersion: '4' });
    await first.opened;
    await eventually(() => clock.delaysMs.includes(120_000));
    await clock.advance(119_000);
    clock.delaysMs.length = 0;
    first.write('\n');
    await eventually(() => clock.delaysMs.includes(120_000));
    await clock.advance(119_999);
    expect(server.requests).to.have.length(1);
    await clock.advance(1);
    await passDelay(800);
    await first.closed;
    await second.opened;
    expect(String(logger.entries[0]?.fields['err'])).to.match(/received no byte for 120000 ms/);
  });

  const malformed: readonly (readonly [string, string, RegExp])[] = [
    ['no JSON', '{"type":"ADDED"\n', /is not JSON/],
    ['no event', '[]\n', /is not a watch event/],
    ['of an unknown type', watchLine('RENAMED', person('a', '7')), /unknown type "RENAMED"/],
    ['without a revision', watchLine('ADDED', { metadata: { name: 'a' } }), /no resourceVersion/],
    ['too long', 'x'.repeat(4 * 1024 * 1024 + 1), /longer than 4194304 bytes/],
  ];
  for (const [what, line, report] of malformed) {
    it(`reports a line that is ${what}, and reconnects from the last revision`, async () => {
      const first = server.stream();
      const second = server.stream();
      const seen = collect({ resourceVersion: '4' });
      await first.opened;
      first.write(watchLine('ADDED', person('a', '6')) + line);
      await passDelay(800);
      await first.closed;
      expect((await opened(second)).get('resourceVersion')).to.equal('6');
      expect(logger.entries.map(({ fields }) => String(fields['err'])))
        .to.match(report)
        .and.to.have.length(1);
      expect(seen.events).to.deep.equal(['ADDED a@6']);
    });
  }

  it('rejects with Expired on an ERROR event 410', async () => {
    const stream = server.stream();
    const seen = collect({ resourceVersion: '4' });
    await stream.opened;
    stream.write(watchLine('ERROR', expired));
    await eventually(() => seen.done);
    expect(isExpired(seen.failure)).to.equal(true);
    await stream.closed;
  });

  it('rejects with Expired on a response 410', async () => {
    server.answer({ status: 410 });
    const seen = collect({ resourceVersion: '4' });
    await eventually(() => seen.done);
    expect(isExpired(seen.failure)).to.equal(true);
  });

  it('rejects with an error that a retry cannot cure, such as Forbidden', async () => {
    server.answer({ status: 403 });
    const seen = collect({ resourceVersion: '4' });
    await eventually(() => seen.done);
    expect(reasonOf(seen.failure)).to.equal('Forbidden');
  });

  it('with sendInitialEvents, yields the present objects and then a bookmark, and watches from the revision of the list', async () => {
    server.answer({ body: personList('9', [person('b', '8'), person('a', '3')]) });
    const stream = server.stream();
    const seen = collect({ sendInitialEvents: true, allowBookmarks: true, labelSelector: 'x' });
    expect((await opened(stream)).get('resourceVersion')).to.equal('9');
    expect(server.requests[0]?.path).to.equal(`${personsPath}?labelSelector=x&limit=1000`);
    expect(seen.events).to.deep.equal(['ADDED b@8', 'ADDED a@3', 'BOOKMARK 9']);
    const end = seen.raw.at(-1);
    expect(end?.type === 'BOOKMARK' && end.object.metadata.annotations).to.deep.equal({
      'k8s.io/initial-events-end': 'true',
    });
  });

  it('begins at the current revision, without the present objects, when sendInitialEvents is false', async () => {
    server.answer({ body: personList('9', [person('b', '8')]) });
    const stream = server.stream();
    const seen = collect({ sendInitialEvents: false });
    expect((await opened(stream)).get('resourceVersion')).to.equal('9');
    stream.write(watchLine('MODIFIED', person('b', '10')));
    await eventually(() => seen.events.length === 1);
    expect(seen.events).to.deep.equal(['MODIFIED b@10']);
  });

  it('requests the list of the present objects again when the first request fails', async () => {
    server.answer({ status: 502 });
    server.answer({ body: personList('9', []) });
    const stream = server.stream();
    collect({});
    await passDelay(800);
    expect((await opened(stream)).get('resourceVersion')).to.equal('9');
  });

  it('ends without an error when the signal aborts, and closes the connection', async () => {
    const stream = server.stream();
    const seen = collect({ resourceVersion: '4' });
    await stream.opened;
    stop.abort();
    await eventually(() => seen.done);
    expect(seen.failure).to.equal(undefined);
    await stream.closed;
  });

  it('ends without an error when the signal aborts while it backs off', async () => {
    server.answer({ status: 500 });
    const seen = collect({ resourceVersion: '4' });
    await eventually(() => clock.delaysMs.includes(800));
    stop.abort();
    await eventually(() => seen.done);
    expect(seen.failure).to.equal(undefined);
  });

  it('makes no request when the signal has already aborted', async () => {
    stop.abort();
    const seen = collect({ resourceVersion: '4' });
    await eventually(() => seen.done);
    expect(server.requests).to.have.length(0);
  });

  it('closes the connection when the caller leaves the loop', async () => {
    const stream = server.stream();
    const left = (async () => {
      for await (const event of client.watch(Person, { resourceVersion: '4' })) return summary(event);
      return 'nothing came';
    })();
    await stream.opened;
    stream.write(watchLine('ADDED', person('a', '6')));
    expect(await left).to.equal('ADDED a@6');
    await stream.closed;
  });

  it('closes the connection when `return` is called while a call of `next` is waiting', async () => {
    const stream = server.stream();
    const iterator = client.watch(Person, { resourceVersion: '4' })[Symbol.asyncIterator]();
    const next = iterator.next();
    await stream.opened;
    await iterator.return?.();
    expect((await next).done).to.equal(true);
    await stream.closed;
  });
});
