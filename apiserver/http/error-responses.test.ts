import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApiError, silentLogger } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import Koa from 'koa';
import { answerError } from './error-responses.ts';
import { newState } from './request/request-state.ts';

describe('an error of a request', () => {
  let server: Server;
  let thrown: unknown;
  let headers: Record<string, string> = {};

  before(async () => {
    const app = new Koa();
    app.use(async (context) => {
      context.state = { ...newState(context.res), id: 'an-id' };
      context.set(headers);
      answerError(context, thrown, silentLogger);
    });
    await new Promise<void>((resolve) => (server = app.listen(0, '127.0.0.1', resolve)));
  });

  after((done) => void server.close(done));

  async function ask(): Promise<Response> {
    return fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, { headers: { connection: 'close' } });
  }

  for (const code of ['EMFILE', 'ENFILE'])
    it(`causes a 503 with Retry-After if its code is ${code}, because a retry succeeds once file descriptors are free`, async () => {
      thrown = Object.assign(new Error('too many open files'), { code });
      const answer = await ask();
      expect([answer.status, answer.headers.get('retry-after')]).to.deep.equal([503, '1']);
      expect(await answer.json()).to.include({ kind: 'Status', reason: 'ServiceUnavailable' });
    });

  it('causes a 500 without its message if it is not an ApiError, and its code is neither EMFILE nor ENFILE', async () => {
    thrown = Object.assign(new Error('secret'), { code: 'EACCES' });
    const answer = await ask();
    expect(answer.status).to.equal(500);
    expect(await answer.text()).to.not.contain('secret');
  });

  it('is not cached, even if it occurs after the headers of a cacheable response were set', async () => {
    headers = { ETag: '"1"', Location: '/other', 'Cache-Control': 'private, max-age=31536000, immutable' };
    thrown = new ApiError('ServiceUnavailable', 'busy');
    const answer = await ask();
    expect([answer.headers.get('etag'), answer.headers.get('location')]).to.deep.equal([null, null]);
    expect(answer.headers.get('cache-control')).to.equal('no-store');
  });
});
