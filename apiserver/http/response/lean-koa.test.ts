import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import type { Context } from 'koa';
import { inOrder, LeanKoa } from './lean-koa.ts';

/**
 * Sends the bytes of one request. When the server ends the connection, resolves with all bytes of the response, without
 * the header Date.
 */
function exchange(server: Server, head: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    let received = '';
    socket.setEncoding('latin1').on('data', (text: string) => (received += text));
    socket.on('error', reject).on('end', () => resolve(received.replace(/\r\nDate: [^\r]*/, '')));
    socket.write(
      `${head} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAccept: text/html\r\nIf-None-Match: "1"\r\n\r\n`,
    );
  });
}

/** Handlers that use the context in different ways, by title. */
const handlers: Readonly<Record<string, (context: Context) => unknown>> = {
  'nothing at all': () => undefined,
  'a status alone': (context) => (context.status = 403),
  'bytes with a type': (context) => send(context, 'whole'),
  'bytes without a type': (context) => (context.body = Buffer.from('whole')),
  'bytes, and then a type': (context) => {
    context.body = Buffer.from('whole');
    context.type = 'text/css';
  },
  'bytes, and then a status': (context) => {
    send(context, 'whole');
    context.status = 409;
  },
  'no bytes': (context) => send(context, ''),
  'bytes with a status that has none': (context) => {
    context.status = 204;
    send(context, 'whole');
  },
  'bytes for a 304': (context) => {
    context.set('ETag', '"1"');
    context.status = 200;
    context.status = context.fresh ? 304 : 500;
    send(context, 'whole');
  },
  'other bytes': (context) => {
    send(context, 'first');
    send(context, 'second time');
  },
  'bytes, and then nothing': (context) => {
    send(context, 'whole');
    context.body = null;
  },
  'a text': (context) => (context.body = '<p>page'),
  'a text after bytes': (context) => {
    send(context, 'whole');
    context.body = 'text';
  },
  'a value': (context) => (context.body = { a: 1 }),
  'a stream': (context) => {
    context.set('Content-Type', 'text/plain');
    context.body = Readable.from([Buffer.from('piece '), Buffer.from('by piece')]);
  },
  'a header twice, in another case': (context) => {
    context.set('Cache-Control', 'no-cache');
    context.set('cache-control', 'no-store');
    send(context, 'whole');
  },
  'headers by name': (context) => {
    context.set({ 'X-One': '1', 'X-Two': ['2', '3'] });
    context.set('X-Three', ['4', '5']);
    send(context, 'whole');
  },
  'a header with a line break': (context) => {
    context.set('X-One', 'a\r\nX-Two: b');
    send(context, 'whole');
  },
  'a header without a name': (context) => {
    context.set('', 'value');
    send(context, 'whole');
  },
  'a header with a space in its name': (context) => {
    context.set('X One', 'value');
    send(context, 'whole');
  },
  'headers in koa and here': (context) => {
    context.set('X-One', '1');
    context.append('Warning', '299 - "a"');
    context.append('Warning', '299 - "b"');
    context.vary('Accept');
    context.set('X-Two', context.response.get('X-One'));
    send(context, 'whole');
    context.remove('X-One');
  },
  'its own type': (context) => {
    context.type = 'json';
    context.body = Buffer.from(context.type);
  },
  'a redirect': (context) => context.redirect('/elsewhere'),
  'a cookie': (context) => {
    context.cookies.set('name', 'value');
    send(context, context.cookies.get('other') ?? 'none');
  },
  'what the request says': (context) => {
    const { method, path, url, originalUrl, querystring, query, host, href, search, protocol, ip, socket } = context;
    const said = { method, path, url, originalUrl, querystring, query, host, href, search, protocol, ip };
    const more = [
      context.get('Host'),
      context.get('referrer'),
      context.get('X-None'),
      context.accepts('html'),
      context.request.path,
      socket === context.req.socket,
    ];
    send(context, JSON.stringify([said, more, context.request.ctx === context, context.response.ctx === context]));
  },
  'what the response says': (context) => {
    const { status, message, headerSent, writable, body } = context;
    send(context, JSON.stringify([{ status, message, headerSent, writable, body }, context.response.headers]));
    const { length, type } = context;
    send(context, JSON.stringify([context.status, length, type]));
  },
  'node: a header after one of koa': (context) => {
    context.set('X-One', '1');
    context.res.setHeader('X-Two', '2');
    context.set('X-Three', '3');
    send(context, 'whole');
  },
  'node: all by itself': (context) => {
    context.set('X-One', '1');
    context.status = 202;
    context.respond = false;
    context.res.writeHead(context.status, { 'X-Two': '2' }).end('written');
  },
  'an error of the server': (context) => {
    send(context, 'whole');
    throw new Error('secret');
  },
  'an error with a status': (context) => context.throw(418, 'teapot'),
};

function send(context: Context, text: string): void {
  context.set('Content-Type', 'application/json');
  context.body = Buffer.from(text);
}

/** Uses koa's own context for each request. */
class PlainKoa extends LeanKoa {
  override contextOf(...made: Parameters<LeanKoa['contextOf']>): Context {
    return this.koaContextOf(...made);
  }
}

describe('a context that creates its parts when they are first used', () => {
  let handle: (context: Context) => unknown = () => undefined;
  const servers = new Map<LeanKoa, Server>();
  const [lean, plain] = [new LeanKoa(), new PlainKoa()];

  before(async () => {
    for (const app of [lean, plain]) {
      app.silent = true;
      app.on('error', () => undefined);
      const server = createServer(app.listener(inOrder([(context) => void handle(context)])));
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      servers.set(app, server);
    }
  });

  after(() => {
    for (const server of servers.values()) server.close();
  });

  const portOf = (app: LeanKoa): Server => servers.get(app) ?? expect.fail('the server runs');
  const withoutPort = (text: string): string => text.replaceAll(/:\d{4,5}/g, ':port');

  for (const [title, each] of Object.entries(handlers))
    for (const target of ['GET /a/b', 'HEAD /a/b', 'POST /a/%2Fb/', 'GET /a?b=c&b=d', 'GET //a/b', 'OPTIONS *'])
      it(`leads to the same response to ${target} as koa's own context: ${title}`, async () => {
        handle = each;
        const expected = withoutPort(await exchange(portOf(plain), target));
        expect(expected).to.match(/^HTTP\/1.1 \d{3} /);
        expect(withoutPort(await exchange(portOf(lean), target))).to.equal(expected);
      });

  it('returns a request header for a name in upper or lower case, and creates none of koa’s objects', async () => {
    const read: string[] = [];
    const app = new LeanKoa();
    const { context: prototype } = app;
    const get = (): unknown => {
      read.push('koa’s objects');
      return prototype;
    };
    Object.defineProperty(app, 'context', { get });
    const own = createServer(
      app.listener(
        inOrder([
          (context) => {
            read.push(context.get('if-none-match'), context.get('ACCEPT'), context.get('User-Agent'));
            send(context, 'whole');
          },
        ]),
      ),
    );
    await new Promise<void>((resolve) => own.listen(0, '127.0.0.1', resolve));
    expect(await exchange(own, 'GET /a')).to.include('200 OK');
    own.close();
    expect(read).to.deep.equal(['"1"', 'text/html', '']);
  });

  it('serves a request whose URL has no query; koa’s own context serves a request whose URL has one', async () => {
    const kinds: string[] = [];
    handle = (context) => kinds.push(context.constructor.name);
    await exchange(portOf(lean), 'GET /a');
    await exchange(portOf(lean), 'GET /a?b');
    expect(kinds).to.deep.equal(['LeanContext', 'Object']);
  });
});
