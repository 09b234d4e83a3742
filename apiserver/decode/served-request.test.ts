import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { ClientRequest, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { discardRest } from './read-body.ts';
import { ServedRequest } from './served-request.ts';

describe('ServedRequest', () => {
  let server: Server<typeof ServedRequest>;

  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  /** Starts a server, and a request with a body of this length. */
  async function post(
    handle: (served: ServedRequest, response: ServerResponse) => void,
    length: number,
  ): Promise<ClientRequest> {
    server = createServer({ IncomingMessage: ServedRequest }, handle);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return request({ port, method: 'POST', headers: { 'Content-Length': length } });
  }

  /** Collects the body as text, and sends it back. */
  function echo(served: ServedRequest, response: ServerResponse): void {
    let text = '';
    served.giveTo({ add: (chunk) => (text += chunk.toString()), end: () => response.end(text) });
  }

  async function answerOf(sent: ClientRequest): Promise<string> {
    const [answer] = (await once(sent, 'response')) as [AsyncIterable<Buffer>];
    let text = '';
    for await (const chunk of answer) text += chunk.toString();
    return text;
  }

  it('gives its body to the taker, part by part, and Node then has nothing left to read', async () => {
    const taken: ServedRequest[] = [];
    const sent = await post((served, response) => {
      taken.push(served);
      echo(served, response);
    }, 6);
    sent.write('abc');
    await eventually(() => expect(taken).to.have.length(1));
    sent.end('def');
    expect(await answerOf(sent)).to.equal('abcdef');
    expect(taken.map(({ readableEnded, complete }) => ({ readableEnded, complete }))).to.deep.equal([
      { readableEnded: true, complete: true },
    ]);
  });

  it('also gives the parts that arrived before there was a taker', async () => {
    let arrived: [ServedRequest, ServerResponse] | undefined;
    const sent = await post((served, response) => (arrived = [served, response]), 3);
    sent.end('abc');
    await eventually(() => expect(arrived?.[0].complete).to.equal(true));
    if (arrived !== undefined) echo(...arrived);
    expect(await answerOf(sent)).to.equal('abc');
  });

  it('an empty body ends at once', async () => {
    const sent = await post(echo, 0);
    sent.end();
    expect(await answerOf(sent)).to.equal('');
  });

  it('gives nothing more to a taker that has left', async () => {
    const parts: string[] = [];
    const sent = await post((served, response) => {
      served.giveTo({
        add(chunk) {
          parts.push(chunk.toString());
          served.leave();
          discardRest(served);
          response.end('enough');
        },
        end: () => parts.push('end'),
      });
    }, 6);
    sent.write('abc');
    expect(await answerOf(sent)).to.equal('enough');
    sent.end('def');
    await once(sent, 'close');
    expect(parts).to.deep.equal(['abc']);
  });
});
