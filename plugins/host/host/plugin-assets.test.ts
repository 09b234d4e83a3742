import { expect } from 'chai';
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, rename, symlink, utimes, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { eventually, silentLogger, startTestServer } from '../testing/index.ts';
import type { TestServer } from '../testing/index.ts';
import { makeFolder, makePlugin, removeFolders } from '../package/plugin-folder.fixture.ts';
import { pluginKind } from '../objects/plugin-kind.ts';

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

interface AskOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const plainPlugin = 'export default {};';
const secret = 'no client may see this';

const files = {
  'secret.txt': secret,
  'resources/static/index.html': '<!doctype html><title>Shop</title>',
  'resources/static/shop.js': 'export const price = 7;',
  'resources/static/shop.css': 'body { color: teal }',
  'resources/static/digits.txt': '0123456789',
  'resources/static/empty.txt': '',
  'resources/static/data.unheard-of': 'x',
  'resources/static/LICENSE': 'free',
  'resources/static/logo.SVG': '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
  'resources/static/ä ö/100%.txt': 'odd name',
  'resources/static/sub/index.html': 'below',
  'resources/static/bare/other.txt': 'no index here',
  'resources/static/.env': secret,
  'resources/static/.git/config': secret,
};

describe('the static files of a plugin', () => {
  let server: TestServer;
  let folder: string;

  before(async () => {
    folder = await makePlugin('shop', plainPlugin, files);
    server = await startTestServer({ plugins: [folder, await makePlugin('bare', plainPlugin)] });
  });

  after(async () => {
    await server.stop();
    await removeFolders();
  });

  /** Sends a request with exactly this path; `fetch` would normalize the path. */
  async function ask(path: string, { method = 'GET', headers = {} }: AskOptions = {}, at = server): Promise<Answer> {
    const { port } = new URL(at.url);
    const incoming = await new Promise<IncomingMessage>((resolve, reject) => {
      const call = httpRequest({ host: '127.0.0.1', port, path, method, headers, agent: false }, resolve);
      call.on('error', reject).end();
    });
    return { status: incoming.statusCode, headers: incoming.headers, text: await textOf(incoming) };
  }

  const inStatic = (path: string): string => join(folder, 'resources/static', path);

  describe('when a client requests them, the server', () => {
    const types: readonly (readonly [path: string, type: string, text: string])[] = [
      ['shop.js', 'text/javascript; charset=utf-8', 'export const price = 7;'],
      ['shop.css', 'text/css; charset=utf-8', 'body { color: teal }'],
      ['digits.txt', 'text/plain; charset=utf-8', '0123456789'],
      ['empty.txt', 'text/plain; charset=utf-8', ''],
      ['data.unheard-of', 'application/octet-stream', 'x'],
      ['LICENSE', 'application/octet-stream', 'free'],
      ['%C3%A4%20%C3%B6/100%25.txt', 'text/plain; charset=utf-8', 'odd name'],
      ['', 'text/html; charset=utf-8', files['resources/static/index.html']],
      ['sub/', 'text/html; charset=utf-8', 'below'],
    ];
    it('sets a content security policy: pages run only scripts of the same origin, and an SVG file runs no scripts', async () => {
      const policyOf = async (path: string): Promise<string> =>
        String((await ask(`/plugins/shop/assets/${path}`)).headers['content-security-policy']);
      const page = await policyOf('');
      for (const rule of ["default-src 'self'", "object-src 'none'", "frame-ancestors 'none'"])
        expect(page).to.contain(rule);
      // The policy has no script-src, so default-src applies to scripts: 'self'.
      expect(page).to.not.match(/script-src|unsafe-eval/);
      expect(await policyOf('logo.SVG')).to.equal(
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox",
      );
    });

    for (const [path, type, text] of types) {
      it(`serves "${path}" as ${type} for GET and HEAD`, async () => {
        const { status, headers, text: got } = await ask(`/plugins/shop/assets/${path}`);
        expect([status, headers['content-type'], got]).to.deep.equal([200, type, text]);
        expect(headers['content-length']).to.equal(String(Buffer.byteLength(text)));
        expect(headers['x-content-type-options']).to.equal('nosniff');
        expect(headers['cache-control']).to.equal('no-cache, private');
        const head = await ask(`/plugins/shop/assets/${path}`, { method: 'HEAD' });
        expect([head.status, head.text]).to.deep.equal([200, '']);
        const lasting = ['content-type', 'content-length', 'etag', 'last-modified'];
        for (const name of lasting) expect(head.headers[name], name).to.equal(headers[name]);
      });
    }

    it('redirects from a folder to its path with a slash, and keeps the query', async () => {
      for (const path of ['/plugins/shop/assets', '/plugins/shop/assets/sub']) {
        const { status, headers } = await ask(`${path}?a=1`);
        expect([status, headers.location]).to.deep.equal([302, `${path}/?a=1`]);
      }
    });

    it('responds with 304 when If-None-Match has the ETag of the file, or If-Modified-Since has its Last-Modified', async () => {
      const path = '/plugins/shop/assets/shop.js';
      const { headers } = await ask(path);
      const tag = String(headers.etag);
      const time = String(headers['last-modified']);
      const conditions = [
        { 'if-none-match': tag },
        { 'if-none-match': `"other", ${tag}` },
        { 'if-modified-since': time },
        { 'if-none-match': tag, 'if-modified-since': time },
      ];
      for (const condition of conditions) {
        for (const method of ['GET', 'HEAD']) {
          const again = await ask(path, { method, headers: condition });
          expect([again.status, again.text, again.headers.etag], JSON.stringify(condition)).to.deep.equal([
            304,
            '',
            tag,
          ]);
        }
      }
      expect((await ask(path, { headers: { 'if-none-match': '"other"' } })).status).to.equal(200);
    });

    it('sends another ETag after the file is replaced by a file with the same size and time', async () => {
      const path = '/plugins/shop/assets/packed.txt';
      const packed = new Date('1985-10-26T08:15:00Z');
      await writeFile(inStatic('packed.txt'), 'first');
      await utimes(inStatic('packed.txt'), packed, packed);
      const first = await ask(path);
      await writeFile(inStatic('next.txt'), 'other');
      await utimes(inStatic('next.txt'), packed, packed);
      await rename(inStatic('next.txt'), inStatic('packed.txt'));
      const second = await ask(path, { headers: { 'if-none-match': String(first.headers.etag) } });
      expect([second.status, second.text]).to.deep.equal([200, 'other']);
      expect(second.headers['last-modified']).to.equal(first.headers['last-modified']);
    });

    const ranges: readonly (readonly [range: string, status: number, text: string, range: string | undefined])[] = [
      ['bytes=0-0', 206, '0', 'bytes 0-0/10'],
      ['bytes=2-4', 206, '234', 'bytes 2-4/10'],
      ['bytes=-3', 206, '789', 'bytes 7-9/10'],
      ['bytes=8-99', 206, '89', 'bytes 8-9/10'],
      ['bytes=1-2,4-5', 200, '0123456789', undefined],
      ['lines=1-2', 200, '0123456789', undefined],
    ];
    for (const [range, status, text, contentRange] of ranges) {
      it(`responds with ${status} to the range ${range}`, async () => {
        const answer = await ask('/plugins/shop/assets/digits.txt', { headers: { range } });
        expect([answer.status, answer.text, answer.headers['content-range']]).to.deep.equal([
          status,
          text,
          contentRange,
        ]);
        expect(answer.headers['accept-ranges']).to.equal('bytes');
      });
    }

    it('sends the whole file when If-Range has another time, or an ETag, because the ETags are weak', async () => {
      const path = '/plugins/shop/assets/digits.txt';
      const { headers } = await ask(path);
      const conditions = [
        [String(headers['last-modified']), 206],
        ['Thu, 01 Jan 1970 00:00:00 GMT', 200],
        [String(headers.etag), 200],
      ] as const;
      for (const [condition, status] of conditions) {
        const answer = await ask(path, { headers: { range: 'bytes=0-0', 'if-range': condition } });
        expect(answer.status, condition).to.equal(status);
      }
    });

    it('responds with a Status to a range beyond the file (416) and to a failed precondition (412)', async () => {
      const path = '/plugins/shop/assets/digits.txt';
      const range = await ask(path, { headers: { range: 'bytes=20-30' } });
      expect([range.status, range.headers['content-range']]).to.deep.equal([416, 'bytes */10']);
      expect(JSON.parse(range.text)).to.include({ kind: 'Status', code: 416 });
      const condition = await ask(path, { headers: { 'if-match': '"other"' } });
      expect(condition.status).to.equal(412);
      expect(JSON.parse(condition.text)).to.include({ kind: 'Status', code: 412 });
      for (const { headers } of [range, condition]) expect(headers).not.to.have.any.keys('etag', 'last-modified');
    });

    it('refuses other methods than GET and HEAD with 405', async () => {
      for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])
        expect((await ask('/plugins/shop/assets/shop.js', { method })).status, method).to.equal(405);
    });
  });

  describe('when a client requests an unusual or hostile path, the server', () => {
    before(async () => {
      const outside = await makeFolder({ 'secret.txt': secret, 'deep/secret.txt': secret });
      await symlink(join(outside, 'secret.txt'), inStatic('link.txt'));
      await symlink(join(folder, 'secret.txt'), inStatic('up.txt'));
      await symlink(outside, inStatic('way-out'));
      await symlink('..', inStatic('parent'));
      await symlink('.git', inStatic('git'));
      await symlink('loop', inStatic('loop'));
      await symlink('gone', inStatic('dangling'));
      await symlink('shop.js', inStatic('inside.js'));
      await mkdir(inStatic('a..b'));
      await writeFile(inStatic('a..b/fine.txt'), 'fine');
      execFileSync('mkfifo', [inStatic('pipe')]);
    });

    const hostile: readonly string[] = [
      '../secret.txt',
      '../../secret.txt',
      '../../../../../../../../etc/passwd',
      'sub/../../../secret.txt',
      'sub/../shop.js',
      './shop.js',
      '..',
      '../',
      '%2e%2e/secret.txt',
      '%2e%2e/%2e%2e/secret.txt',
      '.%2e/.%2e/secret.txt',
      '..%2f..%2fsecret.txt',
      '%2e%2e%2f%2e%2e%2fsecret.txt',
      'sub%2findex.html',
      '%252e%252e/%252e%252e/secret.txt',
      '..%252f..%252fsecret.txt',
      '%25252e%25252e%25252fsecret.txt',
      '..%5c..%5csecret.txt',
      '..\\..\\secret.txt',
      'sub%5cindex.html',
      'C:%5csecret.txt',
      '%00',
      'shop.js%00',
      'shop.js%00.txt',
      '..%00/secret.txt',
      'shop.js%0d%0aX-Evil:%201',
      'shop.js%0a',
      '/etc/passwd',
      '//etc/passwd',
      '%2fetc%2fpasswd',
      'file:///etc/passwd',
      'shop.js/',
      'shop.js/.',
      'shop.js/index.html',
      '.env',
      '%2eenv',
      '.git/config',
      'sub/.',
      'git/config',
      'git/',
      'link.txt',
      'up.txt',
      'way-out',
      'way-out/',
      'way-out/secret.txt',
      'way-out/deep/secret.txt',
      'parent/static/shop.js/..',
      'parent/',
      'parent/../secret.txt',
      'parent/parent/secret.txt',
      'loop',
      'dangling',
      'pipe',
      'bare/',
      'gone.txt',
      'SHOP.JS',
      'constructor',
      '__proto__',
      'x'.repeat(256),
      `${'x/'.repeat(900)}y`,
      'x'.repeat(4000),
    ];
    for (const path of hostile) {
      it(`responds with 404 to "${path.slice(0, 40)}"`, async () => {
        const { status, headers, text } = await ask(`/plugins/shop/assets/${path}`);
        expect(status).to.equal(404);
        expect(JSON.parse(text)).to.include({ kind: 'Status', reason: 'NotFound' });
        expect(headers).not.to.have.any.keys('etag', 'last-modified', 'x-evil');
      });
    }

    it('responds with 400 to a path that is not percent-encoded UTF-8', async () => {
      for (const path of ['%', '%zz', '%ff%fe', '%c0%ae%c0%ae/secret.txt', '%ed%a0%80'])
        expect((await ask(`/plugins/shop/assets/${path}`)).status, path).to.equal(400);
    });

    it('does not return secret files for unusual bytes in the request path', async () => {
      const { port } = new URL(server.url);
      for (const path of ['shop.js\0', '../../secret.txt', '\\..\\..\\secret.txt']) {
        const socket = connect({ host: '127.0.0.1', port: Number(port) });
        socket.write(`GET /plugins/shop/assets/${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
        const answer = await textOf(socket);
        expect(answer, path).to.match(/^HTTP\/1.1 40[04] /);
        expect(answer).not.to.include(secret);
      }
    });

    it('follows a link to a file in the folder of static files, and allows two dots within a name', async () => {
      expect((await ask('/plugins/shop/assets/inside.js')).text).to.equal('export const price = 7;');
      expect((await ask('/plugins/shop/assets/a..b/fine.txt')).text).to.equal('fine');
    });

    it('responds with 404 to a path that names no plugin with static files, or no static file of the plugin', async () => {
      const paths = ['/plugins/bare/assets/', '/plugins/nobody/assets/shop.js', '/plugins/../assets/shop.js'];
      for (const path of [
        ...paths,
        '/plugins/shop/secret.txt',
        '/plugins/shop/',
        '/plugins',
        '/plugins/%2e%2e/assets/',
      ])
        expect((await ask(path)).status, path).to.equal(404);
    });

    it('responds with 404 to a file that the server has no permission to read', async () => {
      await writeFile(inStatic('locked.txt'), secret);
      await chmod(inStatic('locked.txt'), 0);
      // Root may read all files, so the test temporarily runs as another user.
      const isRoot = process.getuid?.() === 0;
      if (isRoot) process.seteuid?.(65_534);
      try {
        expect((await ask('/plugins/shop/assets/locked.txt')).status).to.equal(404);
      } finally {
        if (isRoot) process.seteuid?.(0);
      }
    });
  });

  it('are not served to a request with the Host header of another site (403), or without the token of the server (401)', async () => {
    const path = '/plugins/shop/assets/shop.js';
    expect((await ask(path, { headers: { host: 'evil.example' } })).status).to.equal(403);
    const token = 'a-token-of-enough-length';
    const guarded = await startTestServer({ plugins: [folder], token });
    expect((await ask(path, {}, guarded)).status).to.equal(401);
    expect((await ask(path, { headers: { authorization: `Bearer ${token}` } }, guarded)).status).to.equal(200);
    await guarded.stop();
  });

  it('are served only while the plugin is Started; a stop of the plugin ends a download [slow]', async () => {
    const own = await makePlugin('short', plainPlugin, { 'resources/static/a.txt': 'a' });
    // The file is larger than all buffers between the server and a client that does not read.
    await writeFile(join(own, 'resources/static/large.bin'), Buffer.alloc(32 * 1024 * 1024));
    const host = await startTestServer({ plugins: [own] });
    const kind = pluginKind('homeostat.internal');
    const enable = async (enabled: boolean): Promise<void> => {
      await host.client.patch(kind, 'short', { type: 'merge', patch: { spec: { enabled } } });
      await host.settle();
    };
    const statusNow = async (): Promise<unknown> => (await ask('/plugins/short/assets/a.txt', {}, host)).status;
    expect(await statusNow()).to.equal(200);
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(host.url).port) });
    socket.write('GET /plugins/short/assets/large.bin HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await new Promise((resolve) => socket.once('data', resolve));
    socket.pause();
    await enable(false);
    expect(await statusNow()).to.equal(404);
    socket.on('error', () => undefined).resume();
    await eventually(() => socket.closed);
    await enable(true);
    expect(await statusNow()).to.equal(200);
    await host.stop();
  });

  it("fail the plugin when the folder of static files is a link that leads out of the plugin's folder", async () => {
    const own = await makePlugin('escaping', plainPlugin, { 'resources/x': '' });
    await symlink('/etc', join(own, 'resources/static'));
    const error: unknown = await startTestServer({ plugins: [own], logger: silentLogger }).catch(
      (reason: unknown) => reason,
    );
    expect(String(error)).to.include('plugin "escaping" failed: resources/static leads out of the plugin\'s folder');
  });
});
