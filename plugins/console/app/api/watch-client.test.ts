import { expect } from 'chai';
import { Api } from './api.ts';
import { follow } from './watch-client.ts';
import type { WatchState } from './watch-client.ts';

type Reply = (url: URL) => Response | Promise<Response>;

const person = (name: string, resourceVersion: string): object => ({ metadata: { name, resourceVersion } });
const list = (resourceVersion: string): Response => Response.json({ metadata: { resourceVersion }, items: [] });
const refusal = (code: number): Response =>
  Response.json({ kind: 'Status', code, message: 'no', reason: 'x' }, { status: code });
const events = (...all: readonly object[]): Response =>
  new Response(all.map((each) => `${JSON.stringify(each)}\n`).join('\n'));

/** Follows a kind, and answers each request with the next of `replies`. Aborts at the first request without a reply. */
async function run(replies: readonly Reply[]) {
  const end = new AbortController();
  const asked: string[] = [];
  const seen: string[] = [];
  const states: WatchState['kind'][] = [];
  const fetch = async (address: string): Promise<Response> => {
    const url = new URL(address);
    asked.push(url.searchParams.get('watch') === 'true' ? `watch ${url.searchParams.get('resourceVersion')}` : 'list');
    const reply = replies[asked.length - 1];
    if (reply !== undefined) return reply(url);
    end.abort();
    throw new Error('aborted');
  };
  const parts = {
    api: new Api({ base: 'http://server.test/prefix/', fetch }),
    clock: {
      now: () => 0,
      // Pauses end at once, but the time-out for a silent connection never ends.
      after: (ms: number, done: () => void) => {
        if (ms < 20_000) queueMicrotask(done);
        return () => undefined;
      },
    },
    random: () => 0,
    batch: (flush: () => void) => flush(),
  };
  await follow(parts, {
    path: '/apis/g/v1/persons',
    onList: (_, isAgain) => seen.push(isAgain ? 'list again' : 'list'),
    onChanges: (changes) => seen.push(...changes.map(({ type }) => type)),
    onState: ({ kind }) => states.push(kind),
    signal: end.signal,
  });
  return { asked, seen, states };
}

describe('the watch client of the console', () => {
  it('resumes from the last revision it has seen, bookmarks included', async () => {
    const { asked, seen } = await run([
      () => list('5'),
      () => events({ type: 'ADDED', object: person('a', '6') }, { type: 'BOOKMARK', object: person('', '9') }),
      () => events({ type: 'MODIFIED', object: person('a', '12') }),
    ]);
    expect(asked).to.deep.equal(['list', 'watch 5', 'watch 9', 'watch 12']);
    expect(seen).to.deep.equal(['list', 'ADDED', 'BOOKMARK', 'MODIFIED']);
  });

  it('resumes from the revision of a table row', async () => {
    const row = { cells: ['a'], object: { metadata: { name: 'a', resourceVersion: '7' } } };
    const { asked } = await run([
      () => list('5'),
      () => events({ type: 'ADDED', object: { kind: 'Table', rows: [row] } }),
    ]);
    expect(asked.at(-1)).to.equal('watch 7');
  });

  it('lists again, and marks the list as repeated, when a Status or an event reports that the revision has expired', async () => {
    const gone = { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' } };
    const { asked, seen } = await run([
      () => list('5'),
      () => refusal(410),
      () => list('50'),
      () => events(gone),
      () => list('90'),
    ]);
    expect(asked).to.deep.equal(['list', 'watch 5', 'list', 'watch 50', 'list', 'watch 90']);
    expect(seen).to.deep.equal(['list', 'list again', 'list again']);
  });

  it('stops when the server refuses a list with 410, and does not repeat the request', async () => {
    const { asked, states } = await run([() => refusal(410), () => refusal(410), () => refusal(410)]);
    expect(asked).to.deep.equal(['list']);
    expect(states).to.deep.equal(['listing', 'refused']);
  });

  it('tries again while there is no connection, and reports the state', async () => {
    const broken = (): never => {
      throw new TypeError('fetch failed');
    };
    const { asked, states } = await run([() => list('5'), broken, broken, () => events(), () => refusal(503)]);
    expect(asked).to.deep.equal(['list', 'watch 5', 'watch 5', 'watch 5', 'watch 5', 'watch 5']);
    expect(states).to.deep.equal(['listing', 'lost', 'lost', 'live', 'lost']);
  });

  it('stops when the server refuses the watch', async () => {
    const { asked, states } = await run([() => list('5'), () => refusal(403)]);
    expect(asked).to.have.length(2);
    expect(states.at(-1)).to.equal('refused');
  });
});
