import { ApiError } from '@homeostat/controller-runtime/api';
import type { JsonSchema } from '@homeostat/controller-runtime/api';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { accept, contentType, predicate, route, ServerResponse } from '@homeostat/apiserver/endpoints';
import type { RouteBuilder, ServerRequest } from '@homeostat/apiserver/endpoints';
import type { OwnedEndpoints } from '@homeostat/apiserver';
import { expect } from 'chai';
import { once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { Person, person, persons } from './support/models/models.ts';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';

const base = '/apis/api.people.example.com/v1alpha1';

interface Line {
  readonly level: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

describe('endpoints of plugins over HTTP', () => {
  const clock = new FakeClock();
  let lines: Line[];
  let server: TestServer;
  let owned: OwnedEndpoints;

  const log =
    (level: string) =>
    (fields: Readonly<Record<string, unknown>>, message: string): void =>
      void lines.push({ level, fields, message });
  const errors = (): readonly Line[] => lines.filter(({ level }) => level === 'error');

  before(async () => {
    const logger = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') };
    server = await TestServer.start({ clock, logger });
  });

  beforeEach(() => {
    lines = [];
    owned = server.api.endpoints.forOwner('apples', { group: 'people.example.com' });
  });

  afterEach(() => owned.close());
  after(async () => server.stop());

  function serve(define: (builder: RouteBuilder) => RouteBuilder): void {
    owned.add(define(route('api.people.example.com/v1alpha1')).build());
    owned.open();
  }

  const greet = (request: ServerRequest): ServerResponse =>
    ServerResponse.ok().json({ hello: request.pathVariable('name') });

  describe('on a request', () => {
    it('are matched by method, path and predicate, with path variables that are decoded once [spec 4.3-router, 4.3-shape]', async () => {
      serve((b) => b.GET('/persons/:name/greeting', accept('application/json'), greet));
      const answer = await server.get(`${base}/persons/%C3%A4nn%2520/greeting`);
      expect(answer).to.deep.include({ status: 200, body: { hello: 'änn%20' } });
      expect(answer.headers).to.include({ 'content-type': 'application/json', 'cache-control': 'no-cache, private' });
      expect(answer.headers).to.have.property('audit-id');
      expectRefusal(await server.get(`${base}/persons/%ff/greeting`), { reason: 'BadRequest' });
      expectRefusal(await server.get(`${base}/persons//greeting`), { reason: 'NotFound' });
      expectRefusal(await server.get(`${base}/persons/a/b/greeting`), { reason: 'NotFound' });
    });

    it('respond with 405 and Allow, 406 or 415 when method, Accept or Content-Type do not match [spec 4.3-router]', async () => {
      serve((b) =>
        b
          .GET('/a', accept('application/json'), greet)
          .PUT('/a', contentType('application/json'), greet)
          .GET('/b', predicate(() => false).and(accept('application/json')), greet),
      );
      const refused = await server.post(`${base}/a`, {});
      expectRefusal(refused, { reason: 'MethodNotAllowed', message: `post is not supported on ${base}/a` });
      expect(refused.headers['allow']).to.equal('GET, HEAD, PUT');
      expectRefusal(await server.get(`${base}/a`, { accept: 'text/html' }), { reason: 'NotAcceptable' });
      expectRefusal(await server.put(`${base}/a`, 'x', { type: 'text/plain' }), { reason: 'UnsupportedMediaType' });
      expectRefusal(await server.get(`${base}/b`), { reason: 'NotFound' });
    });

    it('cannot replace generated paths, even with a route that matches every path', async () => {
      serve((b) => b.add(() => () => ServerResponse.ok().text('mine')));
      const whole = server.api.endpoints.forOwner('whole', { group: 'people.example.com' });
      whole.add(
        route('people.example.com/v1alpha1')
          .add(() => () => ServerResponse.ok().text('mine'))
          .build(),
      );
      whole.open();
      expect((await server.get(`${base}/any/thing`)).text).to.equal('mine');
      expect((await server.get(persons)).body.kind).to.equal('PersonList');
      expect((await server.get('/apis/people.example.com/v1alpha1/others')).text).to.equal('mine');
      expect((await server.get('/apis/people.example.com/v1alpha1')).body.kind).to.equal('APIResourceList');
      whole.close();
    });

    it('respond to HEAD like to GET, without the body', async () => {
      let produced = false;
      const pieces = async function* produce(): AsyncGenerator<string> {
        produced = true;
        yield 'x';
      };
      serve((b) =>
        b.GET('/a', () => ServerResponse.ok().text('hello')).GET('/s', () => ServerResponse.ok().stream(pieces())),
      );
      const head = await server.request('HEAD', `${base}/a`);
      expect(head).to.include({ status: 200, text: '' });
      expect(head.headers['content-length']).to.equal('5');
      expect((await server.request('HEAD', `${base}/s`)).status).to.equal(200);
      expect(produced).to.equal(false);
    });

    it('respond with 503 before they are opened, and with 404 after they are closed', async () => {
      owned.add(
        route('api.people.example.com/v1alpha1')
          .GET('/a', () => ServerResponse.ok())
          .build(),
      );
      const early = await server.get(`${base}/a`);
      expectRefusal(early, { reason: 'ServiceUnavailable', message: 'the plugin "apples" is starting' });
      expect(early.headers['retry-after']).to.equal('1');
      owned.open();
      expect((await server.get(`${base}/a`)).status).to.equal(200);
      owned.close();
      expectRefusal(await server.get(`${base}/a`), { reason: 'NotFound' });
    });

    it('refuse writes from pages of other sites with 403', async () => {
      serve((b) => b.POST('/a', () => ServerResponse.ok()));
      const headers = { origin: 'http://evil.example.com' };
      expectRefusal(await server.post(`${base}/a`, {}, { headers }), { reason: 'Forbidden' });
    });
  });

  describe('responses', () => {
    it('can be JSON, text, bytes, no body, or a Response object of fetch', async () => {
      serve((b) =>
        b
          .GET('/json', () => ServerResponse.ok().header('X-A', '1').json([1]))
          .GET('/text', () => ServerResponse.ok().text('grüß'))
          .GET('/bytes', () => ServerResponse.ok().bytes(Uint8Array.of(1, 2, 3)))
          .GET('/none', () => ServerResponse.noContent())
          .GET('/empty', () => ServerResponse.ok())
          .GET('/created', () => ServerResponse.created('/x').json({}))
          .GET('/platform', async () => {
            const response = new Response('hi', { status: 201, headers: { 'X-B': '2', 'Content-Length': '700' } });
            response.headers.append('Set-Cookie', 'a=1');
            response.headers.append('Set-Cookie', 'b=2');
            return response;
          }),
      );
      const json = await server.get(`${base}/json`);
      expect(json).to.deep.include({ status: 200, body: [1] });
      expect(json.headers).to.include({ 'x-a': '1', 'content-length': '3' });
      expect((await server.get(`${base}/text`)).text).to.equal('grüß');
      expect((await server.get(`${base}/bytes`)).text).to.equal('\u0001\u0002\u0003');
      expect(await server.get(`${base}/none`)).to.include({ status: 204, text: '' });
      expect((await server.get(`${base}/empty`)).headers['content-length']).to.equal('0');
      expect((await server.get(`${base}/created`)).headers['location']).to.equal('/x');
      const platform = await server.get(`${base}/platform`);
      expect(platform).to.include({ status: 201, text: 'hi' });
      expect(platform.headers).to.deep.include({ 'x-b': '2', 'set-cookie': ['a=1', 'b=2'] });
    });

    it('can be streams of bytes, JSON lines or events [spec 4.3-bodies]', async () => {
      const count = async function* produce(): AsyncGenerator<number> {
        yield* [1, 2];
      };
      serve((b) =>
        b
          .GET('/stream', () => ServerResponse.ok().stream(['a', Buffer.from('b')], 'text/plain'))
          .GET('/ndjson', () => ServerResponse.ok().ndjson(count()))
          .GET('/sse', () => ServerResponse.ok().sse([{ event: 'tick', id: '1', data: { n: 1 } }])),
      );
      expect((await server.get(`${base}/stream`)).text).to.equal('ab');
      const ndjson = await server.get(`${base}/ndjson`);
      expect(ndjson.text).to.equal('1\n2\n');
      expect(ndjson.headers['content-type']).to.equal('application/x-ndjson');
      expect((await server.get(`${base}/sse`)).text).to.equal('event: tick\nid: 1\ndata: {"n":1}\n\n');
    });

    it('can be lists of stored objects, in the same bytes as the response to a list request of the kind', async () => {
      await server.create(persons, person('ann', { name: 'Ann' }));
      await server.create(persons, person('bob', { name: 'Bob' }));
      serve((b) =>
        b.GET('/list', async () =>
          ServerResponse.ok().json(await server.api.client.list(Person, { sort: 'name,asc' })),
        ),
      );
      const generated = await server.get(`${persons}?sort=name,asc`);
      // The responses would also be equal if the server serialized the objects again, so the test records the arguments
      // of JSON.stringify.
      const { stringify } = JSON;
      const written: unknown[] = [];
      JSON.stringify = (value: unknown, ...rest: never[]): string => {
        written.push(value);
        return stringify(value, ...rest);
      };
      const answer = await server.get(`${base}/list`).finally(() => (JSON.stringify = stringify));
      expect(answer.text).to.equal(generated.text);
      expect(written, 'what was written').to.include('PersonList');
      expect(written.filter((value) => stringify([value]).includes('"spec":{'))).to.deep.equal([]);
      await server.delete(`${persons}/ann`);
      await server.delete(`${persons}/bob`);
    });
  });

  describe('request bodies [spec 4.3-bodies]', () => {
    const schema: JsonSchema = {
      type: 'object',
      required: ['name'],
      additionalProperties: false,
      properties: { name: { type: 'string', maxLength: 5 }, age: { type: 'integer', minimum: 0 } },
    };

    it('are parsed as JSON; a body that breaks the schema gets 422 with every wrong field', async () => {
      serve((b) => b.POST('/a', async (request) => ServerResponse.ok().json(await request.json(schema))));
      expect((await server.post(`${base}/a`, { name: 'Ann' })).body).to.deep.equal({ name: 'Ann' });
      expectRefusal(await server.post(`${base}/a`, '{"name":"a","name":"b"}'), { reason: 'BadRequest' });
      expectRefusal(await server.post(`${base}/a`, '{"name":'), { reason: 'BadRequest' });
      expectRefusal(await server.post(`${base}/a`, ''), { reason: 'BadRequest' });
      expectRefusal(await server.post(`${base}/a`, '['.repeat(100)), { reason: 'BadRequest' });
      expectRefusal(await server.post(`${base}/a`, Buffer.from([0xff])), { reason: 'BadRequest' });
      expectRefusal(await server.post(`${base}/a`, 'x', { type: 'text/plain' }), { reason: 'UnsupportedMediaType' });
      const latin = await server.post(`${base}/a`, '{}', { type: 'application/json; charset=iso-8859-1' });
      expectRefusal(latin, { reason: 'UnsupportedMediaType', message: 'UTF-8' });
      expectRefusal(await server.post(`${base}/a`, { name: 'too long', age: -1 }), {
        reason: 'Invalid',
        causes: ['FieldValueTooLong name', 'FieldValueInvalid age'],
      });
      expectRefusal(await server.post(`${base}/a`, { kind: 'x' }), { reason: 'Invalid', message: 'name: Required' });
      expect(errors()).to.deep.equal([]);
    });

    it('can be read several times as decompressed text or bytes; a body that is too large gets 413', async () => {
      serve((b) =>
        b.POST('/a', async (request) => {
          const bytes = await request.bytes();
          bytes.fill(0);
          return ServerResponse.ok().text(`${await request.text()} ${bytes.length} ${await request.text()}`);
        }),
      );
      expect((await server.post(`${base}/a`, 'grüß')).text).to.equal('grüß 6 grüß');
      const headers = { 'content-encoding': 'gzip' };
      expect((await server.post(`${base}/a`, gzipSync('zip'), { headers })).text).to.equal('zip 3 zip');
      const large = { reason: 'RequestEntityTooLarge' } as const;
      expectRefusal(await server.post(`${base}/a`, Buffer.alloc(3 * 1024 * 1024 + 1)), large);
      expectRefusal(await server.post(`${base}/a`, gzipSync(Buffer.alloc(4 * 1024 * 1024)), { headers }), large);
    });

    it('can be read line by line; an error has the number of the invalid line', async () => {
      serve((b) =>
        b
          .POST('/sum', async (request) => {
            let sum = 0;
            for await (const value of request.ndjson<number>({ type: 'integer' })) sum += value;
            return ServerResponse.ok().json({ sum });
          })
          .POST('/echo', (request) => ServerResponse.ok().ndjson(request.ndjson())),
      );
      expect((await server.post(`${base}/sum`, '1\n\n2\r\n3')).body).to.deep.equal({ sum: 6 });
      expectRefusal(await server.post(`${base}/sum`, '1\n{'), { reason: 'BadRequest', message: 'line 2: ' });
      expectRefusal(await server.post(`${base}/sum`, '1\n\n"x"'), { reason: 'Invalid', message: 'line 3: ' });
      expectRefusal(await server.post(`${base}/sum`, 'x'.repeat(3 * 1024 * 1024 + 1)), {
        reason: 'RequestEntityTooLarge',
        message: 'line 1 ',
      });
      expect((await server.post(`${base}/echo`, '{"a":1}\n[]\n')).text).to.equal('{"a":1}\n[]\n');
    });

    it('can be read as a stream only once; an unread rest does not block the connection [slow]', async () => {
      serve((b) =>
        b
          .POST('/first', async (request) => {
            for await (const chunk of request.body) return ServerResponse.ok().json(chunk.length > 0);
            return ServerResponse.ok();
          })
          .POST('/ignored', () => ServerResponse.ok().text('ignored'))
          .POST('/twice', async (request) => {
            await request.text();
            return ServerResponse.ok().stream(request.body);
          })
          .POST('/zip', (request) => ServerResponse.ok().stream(request.body)),
      );
      const socket = connect({ host: '127.0.0.1', port: server.port });
      const body = 'x'.repeat(5 * 1024 * 1024);
      const one = (path: string): string =>
        `POST ${base}/${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
      let seen = '';
      socket.on('data', (chunk: Buffer) => (seen += chunk.toString()));
      socket.write(one('first') + one('ignored') + one('first'));
      await eventually(() => seen.split('HTTP/1.1 200').length === 4);
      socket.destroy();
      expectRefusal(await server.post(`${base}/twice`, 'x'), { reason: 'InternalError' });
      expect(String(errors().at(-1)?.fields['err'])).to.contain('the body was read already');
      const zip = await server.post(`${base}/zip`, gzipSync('x'), { headers: { 'content-encoding': 'gzip' } });
      expectRefusal(zip, { reason: 'UnsupportedMediaType' });
    });
  });

  describe('that fail', () => {
    it('return the Status of a thrown ApiError, even if the ApiError is from another copy of the package', async () => {
      const foreign = (fields: object): Error => Object.assign(new Error('foreign'), { name: 'ApiError', ...fields });
      serve((b) =>
        b
          .GET('/thrown', () => {
            throw new ApiError('Conflict', 'it was changed', { retryAfterSeconds: 3, details: { name: 'x' } });
          })
          .GET('/rejected', async () => {
            throw foreign({ reason: 'Gone', code: 410, causes: [] });
          })
          .GET('/malformed', () => {
            throw foreign({ reason: 'NoSuchReason', code: 'x' });
          })
          .GET('/evil', () => {
            throw foreign({ reason: 'Gone', code: 999, causes: 'x', details: 7, retryAfterSeconds: '1\r\nX-Evil: 1' });
          }),
      );
      const thrown = await server.get(`${base}/thrown`);
      expectRefusal(thrown, { reason: 'Conflict', message: 'it was changed', details: { name: 'x' } });
      expect(thrown.headers['retry-after']).to.equal('3');
      expectRefusal(await server.get(`${base}/rejected`), { reason: 'Gone', message: 'foreign' });
      expect(errors()).to.deep.equal([]);
      expectRefusal(await server.get(`${base}/malformed`), { reason: 'InternalError' });
      expectRefusal(await server.get(`${base}/evil`), { reason: 'Gone' });
    });

    it('return 500 without details when the error is not an ApiError, and log the error with plugin and route', async () => {
      const circle: Record<string, unknown> = {};
      circle['self'] = circle;
      serve((b) =>
        b
          .GET('/thrown', () => {
            throw new Error('secret');
          })
          .GET('/rejected', async () => {
            throw new Error('secret');
          })
          .GET('/string', () => {
            throw 'secret';
          })
          .GET('/nothing', () => undefined as never)
          .GET('/circle', async () => ServerResponse.ok().json({ secret: circle }))
          .GET('/pieces', () => ServerResponse.ok().stream({ secret: 1 } as never))
          .GET(
            '/predicate',
            predicate(() => ({ secret: 1 }) as never),
            greet,
          )
          .GET('/variable', greet),
      );
      for (const path of ['thrown', 'rejected', 'string', 'nothing', 'circle', 'pieces', 'predicate', 'variable']) {
        lines = [];
        const answer = await server.get(`${base}/${path}`);
        expectRefusal(answer, { reason: 'InternalError' });
        expect(answer.text, path).not.to.contain('secret');
        const requestId = answer.headers['audit-id'];
        expect(errors(), path).to.have.length(1);
        expect(errors()[0]?.fields).to.include({ plugin: 'apples', route: `GET ${base}/${path}`, requestId });
      }
    });

    it('close the connection if the response has already begun, and write a log line', async () => {
      serve((b) =>
        b.GET('/broken', () =>
          ServerResponse.ok().stream(
            (async function* produce() {
              yield 'begun';
              throw new Error('broken');
            })(),
          ),
        ),
      );
      const failure: unknown = await server.get(`${base}/broken`).catch((error: unknown) => error);
      expect(failure).to.be.an('error');
      await eventually(() => errors().length === 1);
      expect(errors()[0]).to.deep.include({ message: 'an endpoint failed after its response had begun' });
      expect((await server.get(persons)).status).to.equal(200);
    });

    it('return 504 after the deadline, abort the signal of the request, and drop a later response', async () => {
      let signal: AbortSignal | undefined;
      let answer = (_response: ServerResponse): void => undefined;
      let cancelled = false;
      serve((b) =>
        b
          .GET('/slow', async (request) => {
            ({ signal } = request);
            return new Promise((resolve) => (answer = resolve));
          })
          .GET('/short', async () => new Promise(() => undefined), { deadlineMs: 100 }),
      );
      const slow = server.get(`${base}/slow`);
      await eventually(() => signal !== undefined);
      await clock.advance(29_999);
      expect(signal?.aborted).to.equal(false);
      await clock.advance(1);
      expectRefusal(await slow, { reason: 'Timeout', message: `GET ${base}/slow has not responded within 30 s` });
      expect(signal?.aborted).to.equal(true);
      answer(ServerResponse.ok().stream(new ReadableStream({ cancel: () => void (cancelled = true) })));
      await eventually(() => cancelled);
      const timers = clock.pendingTimers;
      const short = server.get(`${base}/short`);
      await eventually(() => clock.pendingTimers > timers);
      await clock.advance(100);
      expectRefusal(await short, { reason: 'Timeout' });
    });
  });

  describe('that are interrupted', () => {
    it('abort the handler or the stream when the client closes the connection, without logging an error', async () => {
      const seen: string[] = [];
      const until = async (signal: AbortSignal): Promise<unknown> => once(signal, 'abort');
      serve((b) =>
        b
          .GET('/handler', async (request) => {
            seen.push('handler began');
            await until(request.signal);
            seen.push('handler aborted');
            throw request.signal.reason as Error;
          })
          .GET('/stream', (request) =>
            ServerResponse.ok().sse(
              (async function* produce() {
                try {
                  yield { data: 'begun' };
                  await until(request.signal);
                  seen.push('stream aborted');
                } finally {
                  seen.push('stream returned');
                }
              })(),
            ),
          ),
      );
      const handler = connect({ host: '127.0.0.1', port: server.port });
      handler.write(`GET ${base}/handler HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
      await eventually(() => seen.includes('handler began'));
      handler.destroy();
      await eventually(() => seen.includes('handler aborted'));
      const stream = connect({ host: '127.0.0.1', port: server.port });
      stream.write(`GET ${base}/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
      await once(stream, 'data');
      stream.destroy();
      await eventually(() => seen.includes('stream returned'));
      expect(seen).to.deep.equal(['handler began', 'handler aborted', 'stream aborted', 'stream returned']);
      expect(errors()).to.deep.equal([]);
    });

    it('return 503 from handlers, break streams, and end event streams, when the plugin stops', async () => {
      let begun = 0;
      const endless = async function* produce(): AsyncGenerator<string> {
        begun += 1;
        yield 'a';
        await new Promise(() => undefined);
      };
      const events = async function* produce(): AsyncGenerator<{ data: string }> {
        for await (const data of endless()) yield { data };
      };
      serve((b) =>
        b
          .GET('/handler', async () => {
            begun += 1;
            return new Promise(() => undefined);
          })
          .GET('/stream', () => ServerResponse.ok().stream(endless()))
          .GET('/sse', () => ServerResponse.ok().sse(events())),
      );
      const handler = server.get(`${base}/handler`);
      const stream = server.get(`${base}/stream`).catch((error: unknown) => error);
      const sse = server.get(`${base}/sse`);
      await eventually(() => begun === 3);
      owned.close();
      expectRefusal(await handler, { reason: 'ServiceUnavailable', message: 'has been stopped' });
      expect(await stream).to.be.an('error');
      expect((await sse).text).to.equal('data: a\n\n');
    });
  });
});

describe('a server that stops', () => {
  it('ends the streams of endpoints, lets handlers finish, and refuses new requests', async () => {
    const server = await TestServer.start();
    const owned = server.api.endpoints.forOwner('apples');
    let begun = 0;
    let answer = (_response: ServerResponse): void => undefined;
    const events = async function* produce(): AsyncGenerator<{ data: string }> {
      begun += 1;
      yield { data: 'a' };
      await new Promise(() => undefined);
    };
    owned.add(
      route('api.example.com/v1')
        .GET('/sse', () => ServerResponse.ok().sse(events()))
        // The path does not have the form of an object's path. While the server stops, it refuses each path of that
        // form before it looks for an endpoint.
        .GET('/a/path/of/its/own', async () => {
          begun += 1;
          return new Promise((resolve) => (answer = resolve));
        })
        .build(),
    );
    owned.open();
    const sse = server.get('/apis/api.example.com/v1/sse');
    const request = 'GET /apis/api.example.com/v1/a/path/of/its/own HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
    const socket = connect({ host: '127.0.0.1', port: server.port });
    let seen = '';
    socket.on('data', (chunk: Buffer) => (seen += chunk.toString()));
    socket.write(request);
    await eventually(() => begun === 2);
    const stopped = server.stop();
    expect((await sse).text).to.equal('data: a\n\n');
    socket.write(request);
    answer(ServerResponse.ok());
    await eventually(() => seen.includes('HTTP/1.1 503'));
    expect(seen).to.contain('HTTP/1.1 200').and.to.contain('the server is shutting down');
    socket.end();
    await stopped;
  });
});
