import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { route, ServerResponse } from '@homeostat/apiserver/endpoints';
import type { ServerRequest } from '@homeostat/apiserver/endpoints';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { person, persons } from './support/models/models.ts';
import { TestServer } from './support/servers/test-server.ts';

const endpoints = '/apis/api.example.com/v1';

/** Returns the text of several requests without a body, one after the other. */
function requests(...paths: readonly string[]): string {
  return paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`).join('');
}

describe('pipelined requests after a request that is still running', () => {
  let server: TestServer;
  let began: number;
  let ended: number;

  before(async () => {
    server = await TestServer.start({ maxWatches: 4 });
    const owned = server.api.endpoints.forOwner('pipelining');
    owned.add(
      route('api.example.com/v1').GET('/never', never).GET('/stream', stream).GET('/status/:code', ofStatus).build(),
    );
    owned.open();
  });

  beforeEach(() => {
    began = 0;
    ended = 0;
  });

  after(async () => server.stop());

  async function never({ signal }: ServerRequest): Promise<ServerResponse> {
    began += 1;
    await once(signal, 'abort');
    ended += 1;
    return ServerResponse.noContent();
  }

  function stream(): ServerResponse {
    const pieces = async function* produce(): AsyncGenerator<string> {
      began += 1;
      try {
        for (;;) yield 'x'.repeat(4096);
      } finally {
        ended += 1;
      }
    };
    return ServerResponse.ok().stream(pieces());
  }

  function ofStatus(request: ServerRequest): ServerResponse {
    return ServerResponse.status(Number(request.pathVariable('code'))).text('part of the next answer');
  }

  async function send(...paths: readonly string[]): Promise<Socket> {
    const socket = connect({ host: '127.0.0.1', port: server.port });
    socket.write(requests(...paths));
    return socket;
  }

  it('wait for the running request: of four pipelined watches, only the running one counts against the limit of watches', async () => {
    const watch = `${persons}?watch=true`;
    const socket = await send(watch, watch, watch, watch);
    await once(socket, 'data');
    const others = await Promise.all(Array.from({ length: 3 }, async () => server.watch(watch)));
    expect(others.map(({ status }) => status)).to.deep.equal([200, 200, 200]);
    expect((await server.get(`${watch}&timeoutSeconds=1`)).status).to.equal(429);
    for (const each of others) each.close();
    socket.destroy();
    await eventually(async () => {
      const four = await Promise.all(Array.from({ length: 4 }, async () => server.watch(watch)));
      for (const each of four) each.close();
      return four.every(({ status }) => status === 200);
    });
  });

  for (const path of ['/never', '/stream']) {
    it(`never start when the client closes the connection; the running request to ${path} ends, too`, async () => {
      const socket = await send('/livez', `${endpoints}${path}`, `${endpoints}${path}`, `${endpoints}/never`);
      await eventually(() => began === 1);
      socket.destroy();
      await eventually(() => ended === 1);
      expect(began).to.equal(1);
    });
  }

  it('get their responses in the order of the requests, even 3,000 of them [slow]', async () => {
    const paths = Array.from({ length: 3000 }, (_, index) => `${endpoints}/status/${200 + (index % 100)}`);
    const answers = await server.raw(`${requests(...paths)}GET /version HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n`);
    const codes = [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => Number(code));
    expect(codes).to.deep.equal([...paths.map((_, index) => 200 + (index % 100)), 200]);
  });

  it('get their responses in the order of the requests when one request has a body', async () => {
    const body = JSON.stringify(person('behind'));
    const head = `POST ${persons} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n`;
    const create = `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
    const last = `GET ${persons}/behind HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n`;
    const answers = await server.raw(requests('/livez') + create + last);
    expect([...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => code)).to.deep.equal(['200', '201', '200']);
  });

  it('get their responses in the order of the requests when one response is a 404', async () => {
    const last = 'GET /version HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n';
    const answers = await server.raw(requests(persons, `${persons}/nobody`, '/livez') + last);
    const codes = [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => code);
    expect(codes).to.deep.equal(['200', '404', '200', '200']);
  });

  it('get intact responses after a 204, 205 or 304 whose endpoint returned a text, because the server does not send the text', async () => {
    const paths = [204, 205, 304].map((code) => `${endpoints}/status/${code}`);
    const answers = await server.raw(`${requests(...paths)}GET /version HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n`);
    const codes = [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => code);
    expect(codes).to.deep.equal(['204', '205', '304', '200']);
    expect(answers).not.to.contain('part of');
  });
});
