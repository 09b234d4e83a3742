import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { ScriptedServer } from '../client/scripted-server.fixture.ts';
import { createFaultInjectingFetch } from './fault-injecting-fetch.ts';
import type { FaultInjectingFetch } from './fault-injecting-fetch.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const failureOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'no failure',
    (error: unknown) => (error as Error).message,
  );

describe('a fault-injecting fetch', () => {
  let server: ScriptedServer;
  let faulty: FaultInjectingFetch;

  beforeEach(async () => {
    server = await ScriptedServer.start();
    faulty = createFaultInjectingFetch();
  });

  afterEach(() => server.close());

  it('sends requests to the server and records them', async () => {
    server.answer({ status: 201, body: 'made' });
    const response = await faulty.fetch(`${server.url}/a?b=c`, { method: 'POST', body: '{"d":1}' });
    expect([response.status, await response.text()]).to.deep.equal([201, 'made']);
    expect(faulty.requests[0]).to.include({ method: 'POST', path: '/a?b=c', body: '{"d":1}' });
    expect(server.requests[0]?.body).to.deep.equal({ d: 1 });
  });

  it('does not send refused and stubbed requests to the server, and uses each fault once', async () => {
    faulty.inject({ kind: 'refuse' });
    faulty.inject({ kind: 'answer', status: 429, headers: { 'retry-after': '1' }, body: { a: 1 } });
    server.answer({ body: 'ok' });
    expect(await failureOf(faulty.fetch(server.url))).to.equal('fetch failed');
    const answered = await faulty.fetch(server.url);
    expect([answered.status, await answered.json()]).to.deep.equal([429, { a: 1 }]);
    expect(server.requests).to.have.length(0);
    expect(await (await faulty.fetch(server.url)).text()).to.equal('ok');
    expect(faulty.requests).to.have.length(3);
  });

  it('loses the response of a request that the server has served', async () => {
    faulty.inject({ kind: 'loseAnswer' });
    server.answer({ body: 'done' });
    expect(await failureOf(faulty.fetch(server.url))).to.equal('fetch failed');
    expect(server.requests).to.have.length(1);
  });

  it('keeps a fault until a request matches it', async () => {
    faulty.inject({ kind: 'refuse' }, ({ path }) => path === '/second');
    server.answer({ body: 'ok' });
    expect((await faulty.fetch(`${server.url}/first`)).status).to.equal(200);
    expect(await failureOf(faulty.fetch(`${server.url}/second`))).to.equal('fetch failed');
  });

  it('holds a request back until it is released', async () => {
    let letGo = (): void => {};
    faulty.inject({ kind: 'delay', until: new Promise<void>((resolve) => (letGo = resolve)) });
    server.answer({ body: 'ok' });
    const delayed = faulty.fetch(server.url);
    await new Promise((resolve) => setImmediate(resolve));
    expect(server.requests).to.have.length(0);
    letGo();
    expect((await delayed).status).to.equal(200);
  });

  it('ends a body with an error after a number of bytes', async () => {
    faulty.inject({ kind: 'cut', afterBytes: 3 });
    server.answer({ body: 'abcdef' });
    const { body } = await faulty.fetch(server.url);
    const reader = body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).to.equal('abc');
    expect(await failureOf(reader?.read() ?? Promise.resolve())).to.equal('fetch failed');
  });

  it('cuts every body that is being read, and no body that has ended', async () => {
    server.answer({ body: 'short' });
    await (await faulty.fetch(server.url)).text();
    const stream = server.stream();
    const open = await faulty.fetch(server.url);
    const reading = failureOf(open.text());
    expect(faulty.cutAll()).to.equal(1);
    expect(await reading).to.equal('fetch failed');
    await stream.closed;
    expect(faulty.cutAll()).to.equal(0);
  });

  it('ends a body when the signal of the request aborts, even after a garbage collection [slow]', async () => {
    const stop = new AbortController();
    const stream = server.stream();
    const { body } = await faulty.fetch(server.url, { signal: stop.signal });
    const reader = body?.getReader();
    stream.write('a');
    await reader?.read();
    for (let turn = 0; turn < 2; turn += 1) {
      collectGarbage();
      await new Promise((resolve) => setImmediate(resolve));
    }
    const reading = failureOf(reader?.read() ?? Promise.resolve());
    stop.abort();
    expect(await reading).to.match(/aborted/);
    await stream.closed;
  });
});
