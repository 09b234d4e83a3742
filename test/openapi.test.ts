import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { defineModel } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { apiVersion, machine, persons } from './support/models/models.ts';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';

const groupVersion = `/openapi/v3/apis/${apiVersion}`;

describe('OpenAPI over HTTP [compat explain]', () => {
  let server: TestServer;

  before(async () => {
    server = await TestServer.start();
  });

  after(() => server.stop());

  /** Returns the path that the index `/openapi/v3` has for the document of the test's group version. */
  async function hashedAddress(): Promise<string> {
    const { body } = await server.get('/openapi/v3');
    return body.paths[`apis/${apiVersion}`].serverRelativeURL as string;
  }

  it('is listed among the paths at the root', async () => {
    const { body } = await server.get('/');
    expect(body.paths).to.include.members(['/docs', '/openapi.json', '/openapi/v3']);
  });

  it('has an index of the group versions, with paths that clients may cache forever', async () => {
    const address = await hashedAddress();
    expect(address).to.match(new RegExp(`^${groupVersion}\\?hash=[0-9A-F]{64}$`));
    const { status, headers, body } = await server.get(address);
    expect(status).to.equal(200);
    expect(headers['cache-control']).to.equal('private, max-age=31536000, immutable');
    expect(headers['content-type']).to.equal('application/json');
    expect(Object.keys(body.paths)).to.include.members([persons, `${persons}/{name}`, `${persons}/{name}/status`]);
  });

  it('redirects from the path with an old hash to the path with the present hash', async () => {
    const { status, headers } = await server.get(`${groupVersion}?hash=0123`);
    expect(status).to.equal(301);
    expect(headers['cache-control']).to.equal('no-cache, private');
    expect(headers.location).to.equal(await hashedAddress());
  });

  for (const path of ['/openapi/v2', '/openapi/v3', groupVersion, '/openapi.json', '/docs', '/docs/swagger-ui.css']) {
    it(`responds with 304 for ${path} when the client's ETag matches, and otherwise with 200`, async () => {
      const { status, headers } = await server.get(path);
      expect(status).to.equal(200);
      expect(headers['cache-control']).to.equal('no-cache, private');
      const etag = headers.etag ?? '';
      const same = await server.get(path, { 'if-none-match': `"x", ${etag}` });
      expect([same.status, same.text, same.headers.etag]).to.deep.equal([304, '', etag]);
      expect((await server.get(path, { 'if-none-match': '"x"' })).status).to.equal(200);
    });

    it(`responds to HEAD on ${path} with the headers of GET, and refuses writes`, async () => {
      const [get, head] = [await server.get(path), await server.request('HEAD', path)];
      expect([head.status, head.text]).to.deep.equal([200, '']);
      for (const name of ['content-length', 'content-type', 'etag']) {
        expect(head.headers[name], name).to.equal(get.headers[name]);
      }
      expectRefusal(await server.post(path, {}), { reason: 'MethodNotAllowed' });
    });
  }

  it('returns a v3 document as JSON for any Accept header, also for one that accepts only protobuf', async () => {
    const accept = 'application/com.github.proto-openapi.spec.v3@v1.0+protobuf';
    const { status, headers } = await server.get(groupVersion, { accept });
    expect([status, headers['content-type']]).to.deep.equal([200, 'application/json']);
  });

  it('has an empty v2 document for clients that accept only protobuf, so that writes of old kubectl versions succeed', async () => {
    const proto = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
    const { status, headers, text } = await server.get('/openapi/v2', { accept: proto });
    expect([status, text]).to.deep.equal([200, '']);
    expect(headers['content-type']).to.equal('application/com.github.proto-openapi.spec.v2.v1.0+protobuf');
    const either = await server.get('/openapi/v2', { accept: `${proto},application/json` });
    expect(either.body.swagger).to.equal('2.0');
  });

  it('responds with 404 to unknown paths, and to paths that lead out of the folder of the page /docs', async () => {
    const paths = ['/openapi', '/openapi/v3/apis/nobody.example.com/v1', '/openapi/v3/__proto__', '/openapi.json/x'];
    const files = ['/docs/x', '/docs/package.json', '/docs/../package.json', '/docs/%2e%2e%2fpackage.json', '/docs//'];
    for (const path of [...paths, ...files]) expectRefusal(await server.get(path), { reason: 'NotFound' });
  });

  it('makes each document in several turns of the event loop, so that many large kinds do not delay other requests [slow]', async () => {
    const field = { type: 'string', description: 'A field as generators of definitions describe it.' } as const;
    const fields = Object.fromEntries(Array.from({ length: 1500 }, (_, at) => [`field${at}`, field]));
    const schema = { type: 'object', properties: { spec: { type: 'object', properties: fields } } } as const;
    const kinds = Array.from({ length: 24 }, (_, at) =>
      defineModel({ gvk: `large.example.com/v1/Large${at}`, plural: `large${at}s`, schema }),
    );
    for (const kind of kinds) server.api.schemeManager.register(kind);
    for (const kind of kinds) await server.api.whenReady(kind);
    const delay = monitorEventLoopDelay({ resolution: 1 });
    for (const path of ['/openapi/v3', '/openapi/v3/apis/large.example.com/v1', '/openapi.json', '/openapi/v2']) {
      delay.reset();
      delay.enable();
      const sinceMs = performance.now();
      // A HEAD request, because the response to a GET has a body: the client runs in this process, too, and its work to
      // read the body would increase the measured delay.
      const { status } = await server.request('HEAD', path);
      delay.disable();
      expect(status).to.equal(200);
      const tookMs = performance.now() - sinceMs;
      // If the document were made in one turn, the stall would be almost as long as the request.
      if (tookMs > 200) expect(delay.max / 1e6, `${path} took ${tookMs} ms`).to.be.below(tookMs / 2);
    }
    for (const kind of kinds) server.api.schemeManager.unregister(kind, 'service');
  });

  it('has only the served kinds; the hash of the document is the same again when a removed kind is served again', async () => {
    const before = await hashedAddress();
    server.api.schemeManager.unregister(machine, 'service');
    const { text } = await server.get('/openapi.json');
    expect(text).to.contain('/persons').and.not.to.contain('/machines');
    expect(await hashedAddress()).not.to.equal(before);
    server.api.schemeManager.register(machine);
    await server.api.whenReady(machine);
    expect(await hashedAddress()).to.equal(before);
  });

  it('has a page whose content security policy allows only files of the server, and no inline scripts', async () => {
    const { headers, text } = await server.get('/docs/');
    expect(headers['content-type']).to.equal('text/html; charset=utf-8');
    expect(headers['x-content-type-options']).to.equal('nosniff');
    const policy = headers['content-security-policy'];
    expect(policy).to.contain("default-src 'none'; script-src 'self';").and.not.to.contain('unsafe');
    expect(text).not.to.match(/<script(?![^>]*src=)|style=|\son\w+=|https?:/);
    for (const page of ['/docs', '/docs/']) {
      const shown = (await server.get(page)).text;
      for (const [, address = ''] of shown.matchAll(/(?:href|src)="([^"]*)"/g)) {
        const { pathname } = new URL(address, `http://localhost${page}`);
        expect((await server.get(pathname)).status, `${page}: ${address}`).to.equal(200);
      }
    }
  });

  it('serves the scripts, styles and images of the page at /docs with their media types', async () => {
    const types = ['initializer.js', 'swagger-ui-bundle.js', 'swagger-ui.css', 'favicon-32x32.png'].map(
      async (file) => (await server.request('HEAD', `/docs/${file}`)).headers['content-type'],
    );
    const script = 'text/javascript; charset=utf-8';
    expect(await Promise.all(types)).to.deep.equal([script, script, 'text/css; charset=utf-8', 'image/png']);
  });
});
