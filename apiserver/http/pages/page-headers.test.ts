import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import Koa from 'koa';
import { TrustedProxies } from '../request/trusted-proxies.ts';
import { pageHeaders } from './page-headers.ts';

describe('the headers of pages', () => {
  let server: Server;

  before(async () => {
    const app = new Koa();
    app.use(pageHeaders(new TrustedProxies(['127.0.0.1'])));
    app.use((context) => {
      context.type = context.path === '/json' ? 'application/json' : 'text/html';
      if (context.path === '/own') context.set('Content-Security-Policy', "default-src 'none'");
      context.body = '{}';
    });
    server = createServer(app.callback());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });

  after(async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  });

  async function headersOf(path: string, sent: Record<string, string> = {}): Promise<Headers> {
    return (await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, { headers: sent }))
      .headers;
  }

  it('allow no inline code, no content of other sites, and no display in a frame', async () => {
    const headers = await headersOf('/page');
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).to.include("default-src 'self'").and.include("frame-ancestors 'none'");
    expect(policy).to.not.include('unsafe');
    expect(headers.get('referrer-policy')).to.equal('same-origin');
    expect(headers.get('strict-transport-security')).to.equal(null);
  });

  it('do not replace the Content-Security-Policy that a route has set, and are not added to JSON', async () => {
    expect((await headersOf('/own')).get('content-security-policy')).to.equal("default-src 'none'");
    expect((await headersOf('/json')).get('content-security-policy')).to.equal(null);
  });

  it('contain Strict-Transport-Security for requests over TLS, except for loopback names', async () => {
    const secure = { 'x-forwarded-proto': 'https' };
    expect((await headersOf('/page', secure)).get('strict-transport-security')).to.equal(null);
    const app = new Koa();
    const middleware = pageHeaders(new TrustedProxies(['127.0.0.1']));
    app.use(middleware).use((context) => {
      context.type = 'text/html';
      context.body = '';
    });
    const named = createServer((request, response) => {
      request.headers.host = 'homeostat.example.com';
      void app.callback()(request, response);
    });
    await new Promise<void>((resolve) => named.listen(0, '127.0.0.1', resolve));
    const { port } = named.address() as AddressInfo;
    const response = await fetch(`http://127.0.0.1:${port}/`, { headers: secure });
    expect(response.headers.get('strict-transport-security')).to.equal('max-age=31536000');
    const closed = new Promise((resolve) => named.close(resolve));
    named.closeAllConnections();
    await closed;
  });
});
