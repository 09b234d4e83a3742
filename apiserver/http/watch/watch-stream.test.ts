import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { ChangeFeed } from '../../index/change-feed.ts';
import { createPerson, createPersonCache, personEntry } from '../../index/person.fixture.ts';
import type { Resource } from '../../registry/kinds/resource.ts';
import { FlushCycle } from './flush-cycle.ts';
import { jsonLines } from './watch-frames.ts';
import type { FrameFormat } from './watch-frames.ts';
import { WatchGroups } from './watch-group.ts';
import { WatchStream } from './watch-stream.ts';
import type { WatchStreamParts } from './watch-stream.ts';

/** A format that throws, like one with a bug. */
const broken: FrameFormat = {
  ...jsonLines,
  event: (type, ...rest) => {
    if (type === 'ADDED') throw new TypeError('cannot be shown');
    return jsonLines.event(type, ...rest);
  },
};

describe('WatchStream', () => {
  const cache = createPersonCache();
  let feed: ChangeFeed;
  let errors: unknown[];
  let server: Server;
  let url: string;
  let aborting: AbortController;
  /** The number of comparisons of entries with a selection, by the key of the selection. */
  let compared: Map<string, number>;
  /** The number of comparisons of entries with a selection in the current turn of the event loop. */
  let inTurn: number;
  /** The number of comparisons in the turn with the most comparisons. */
  let mostInTurn: number;

  beforeEach(async () => {
    feed = new ChangeFeed({ floor: 10, onError: () => undefined });
    errors = [];
    compared = new Map();
    [inTurn, mostInTurn] = [0, 0];
    aborting = new AbortController();
    const resource = { feed, apiVersion: 'v1', keyPrefix: '/', model: { kind: 'Person' } } as unknown as Resource;
    const clock = new FakeClock();
    const flushes = new FlushCycle(clock);
    const groups = new WatchGroups(flushes);
    const selection = (key: string): WatchStreamParts['selection'] => ({
      key,
      selects: ({ name }) => {
        compared.set(key, (compared.get(key) ?? 0) + 1);
        countInTurn();
        return key !== '/last' || name === 'last';
      },
    });
    server = createServer((request, response) => {
      const format = request.url === '/broken' ? broken : jsonLines;
      const place = { revision: 10, markInitialEnd: false, bookmarkIntervalMs: undefined, timeoutMs: 3_600_000 };
      const hooks = { currentRevision: () => feed.revision, onError: (error: unknown) => void errors.push(error) };
      const watched = { resource, selection: selection(request.url ?? ''), initial: [], ...place };
      const stream = new WatchStream(
        { response, format, clock, flushes, groups, ...watched, ...hooks },
        () => undefined,
      );
      response.once('close', () => stream.end());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  afterEach(async () => {
    aborting.abort();
    server.close();
    await eventually(() => !server.listening);
  });

  const watch = (path: string): Promise<Response> => fetch(`${url}${path}`, { signal: aborting.signal });
  const add = (name: string, revision: number): void =>
    feed.append({ type: 'ADDED', revision, entry: personEntry(cache, createPerson({ name }), revision) });
  const countInTurn = (): void => {
    if (inTurn === 0) setImmediate(() => (inTurn = 0));
    inTurn += 1;
    mostInTurn = Math.max(mostInTurn, inTurn);
  };
  const firstChunk = async ({ body }: Response): Promise<string> => {
    const { value } = await body!.getReader().read();
    return new TextDecoder().decode(value);
  };

  it('ends with an ERROR event of code 500 when an event cannot be written, and does not affect other streams', async () => {
    // The broken stream is opened first, so the server writes the change to it first. Its failure must not prevent the
    // write to the other stream.
    const [failed, sound] = [await watch('/broken'), await watch('/')];
    add('ada', 11);
    const status = JSON.parse(await failed.text()) as { type: string; object: { code: number } };
    expect(status).to.have.nested.property('type', 'ERROR');
    expect(status.object.code).to.equal(500);
    expect(await firstChunk(sound)).to.include('"name":"ada"');
    expect(errors).to.have.lengthOf(1).and.to.have.nested.property('[0].message', 'cannot be shown');
  });

  it('compares a change with a selection once for all watchers with this selection, the same format and position in the feed', async () => {
    const paths = ['/a', '/b', '/a', '/a', '/b'];
    const watches = await Promise.all(paths.map(watch));
    add('ada', 11);
    add('bob', 12);
    for (const chunk of await Promise.all(watches.map(firstChunk)))
      expect(chunk).to.include('"name":"ada"').and.to.include('"name":"bob"');
    expect(Object.fromEntries(compared)).to.deep.equal({ '/a': 2, '/b': 2 });
  });

  it('evaluates each change once for two watchers of the same path, even if the changes do not fit in one batch', async () => {
    const watches = await Promise.all(['/last', '/last'].map(watch));
    for (let revision = 11; revision < 6_000; revision += 1) add('ada', revision);
    add('last', 6_000);
    for (const chunk of await Promise.all(watches.map(firstChunk))) expect(chunk).to.include('"name":"last"');
    expect(compared.get('/last')).to.equal(5_990);
  });

  it('takes several turns of the event loop to skip many changes that it does not select', async () => {
    for (let revision = 11; revision < 6_000; revision += 1) add('ada', revision);
    add('last', 6_000);
    expect(await firstChunk(await watch('/last')))
      .to.include('"name":"last"')
      .and.not.include('"ada"');
    expect(compared.get('/last')).to.equal(5_990);
    expect(mostInTurn).to.be.below(2_100);
  });
});
