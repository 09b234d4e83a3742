import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { ChangeFeed } from '../../index/change-feed.ts';
import { createPerson, createPersonCache, entryOf } from '../../index/person.fixture.ts';
import type { Resource } from '../../registry/kinds/resource.ts';
import { FlushCycle } from './flush-cycle.ts';
import { jsonLines } from './watch-frames.ts';
import type { FrameFormat } from './watch-frames.ts';
import { WatchStream } from './watch-stream.ts';

/** Simulates a bug in the code that writes one form of objects. */
const broken: FrameFormat = {
  ...jsonLines,
  event: (type, ...rest) => {
    if (type === 'ADDED') throw new TypeError('cannot be shown');
    return jsonLines.event(type, ...rest);
  },
};

describe('WatchStream', () => {
  it('ends with 500 when an event cannot be written, and does not affect other streams', async () => {
    const cache = createPersonCache();
    const feed = new ChangeFeed({ floor: 10, onError: () => undefined });
    const resource = { feed, apiVersion: 'v1', keyPrefix: '/', model: { kind: 'Person' } } as unknown as Resource;
    const clock = new FakeClock();
    const shared = { resource, clock, flushes: new FlushCycle(clock), selects: undefined, initial: [] };
    const errors: unknown[] = [];
    const server = createServer((request, response) => {
      const format = request.url === '/broken' ? broken : jsonLines;
      const place = { revision: 10, markInitialEnd: false, bookmarkIntervalMs: undefined, timeoutMs: 3_600_000 };
      const hooks = { currentRevision: () => feed.revision, onError: (error: unknown) => void errors.push(error) };
      const stream = new WatchStream({ response, format, ...shared, ...place, ...hooks }, () => undefined);
      response.once('close', () => stream.end());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const aborting = new AbortController();
    // The broken stream first: it is the first in each pass.
    const [failed, sound] = [await fetch(`${url}/broken`), await fetch(url, { signal: aborting.signal })];
    const told = sound.body!.getReader();
    feed.append({ type: 'ADDED', revision: 11, entry: entryOf(cache, createPerson({ name: 'ada' }), 11) });
    const status = JSON.parse(await failed.text()) as { type: string; object: { code: number } };
    expect(status).to.have.nested.property('type', 'ERROR');
    expect(status.object.code).to.equal(500);
    expect(new TextDecoder().decode((await told.read()).value)).to.include('"name":"ada"');
    expect(errors).to.have.lengthOf(1).and.to.have.nested.property('[0].message', 'cannot be shown');
    aborting.abort();
    server.close();
    await eventually(() => !server.listening);
  });
});
