import { request } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { person, persons } from './support/models/models.ts';
import { TestServer } from './support/servers/test-server.ts';

interface RawAnswer {
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
}

describe('compression [compat compression]', () => {
  let server: TestServer;
  const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';

  before(async () => {
    // With a fake clock, ages in tables are equal in all responses.
    server = await TestServer.start({ clock: new FakeClock(Date.now()) });
    const note = 'n'.repeat(20_000);
    for (let i = 0; i < 10; i += 1) await server.create(persons, person(`p${i}`, {}, { annotations: { note } }));
  });

  after(() => server.stop());

  async function ask(path: string, headers: Record<string, string>, method = 'GET'): Promise<RawAnswer> {
    return new Promise((resolve, reject) => {
      const call = request(
        { host: '127.0.0.1', port: server.port, path, headers, method, agent: false },
        (response) => {
          buffer(response).then((bytes) => resolve({ headers: response.headers, bytes }), reject);
        },
      );
      call.on('error', reject);
      call.end();
    });
  }

  const gzip = { 'accept-encoding': 'gzip' };

  for (const [what, path, headers] of [
    ['a list', persons, {}],
    ['a list in YAML', persons, { accept: 'application/yaml' }],
    ['a table', `${persons}?includeObject=Object`, { accept: table }],
  ] as const) {
    it(`compresses ${what} of 128 KiB or more with gzip for clients that accept it, and for no others`, async () => {
      const plain = await ask(path, headers);
      const small = await ask(path, { ...headers, ...gzip });
      expect(plain.bytes.length).to.be.above(128 * 1024);
      expect(plain.headers).not.to.have.property('content-encoding');
      expect(small.headers['content-encoding']).to.equal('gzip');
      expect(small.headers['content-type']).to.equal(plain.headers['content-type']);
      expect(small.bytes.length).to.be.below(plain.bytes.length / 10);
      expect(gunzipSync(small.bytes).equals(plain.bytes)).to.equal(true);
      for (const { headers: sent } of [plain, small]) expect(sent.vary).to.equal('Accept-Encoding');
      for (const sent of [headers, { ...headers, ...gzip }]) {
        const [head, got] = [await ask(path, sent, 'HEAD'), await ask(path, sent)];
        expect(head.bytes).to.have.length(0);
        for (const name of ['content-encoding', 'content-type', 'vary', 'content-length'])
          expect(head.headers[name], name).to.equal(got.headers[name]);
      }
    });
  }

  it('compresses neither the response with one small object nor a list for a client that does not accept gzip', async () => {
    const { headers } = await ask(`${persons}/p1`, gzip);
    expect(headers).not.to.have.any.keys('content-encoding', 'vary');
    for (const encoding of ['gzip;q=0', 'identity', 'br', 'deflate']) {
      const answer = await ask(persons, { 'accept-encoding': encoding });
      expect(answer.headers, encoding).not.to.have.property('content-encoding');
    }
  });

  it('does not compress watches, even when they send more than 128 KiB', async () => {
    const watch = await server.watch(`${persons}?watch=true`, gzip);
    await watch.count(10);
    expect(watch.headers).not.to.have.property('content-encoding');
  });

  it('responds with 304 to the ETag of a compressed response', async () => {
    const path = '/docs/swagger-ui-bundle.js';
    const { headers } = await ask(path, gzip);
    expect(headers['content-encoding']).to.equal('gzip');
    expect(headers.etag).to.match(/^W\/"/);
    const again = await server.get(path, { ...gzip, 'if-none-match': headers.etag ?? '' });
    expect([again.status, again.text]).to.deep.equal([304, '']);
  });
});
