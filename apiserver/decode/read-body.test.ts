import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { ClientRequest, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { toError } from '../base/to-error.ts';
import { BodyMemory } from './body-memory.ts';
import { giveTogether, maxBodyBytes, ServedRequest } from './read-body.ts';

const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

describe('giveTogether', () => {
  let given: number[];

  beforeEach(() => {
    given = [];
  });

  function arrive(from: number, to: number): void {
    for (let number = from; number < to; number += 1) giveTogether(() => given.push(number), Buffer.alloc(1));
  }

  it('gives bodies to their readers at the end of a turn of the event loop, at most 16 per turn, in the order of arrival', async () => {
    arrive(0, 40);
    expect(given).to.deep.equal([]);
    const counts: number[] = [];
    while (given.length < 40) {
      await nextTurn();
      counts.push(given.length);
    }
    expect(counts).to.deep.equal([16, 32, 40]);
    expect(given).to.deep.equal(Array.from({ length: 40 }, (_, number) => number));
  });

  it('gives a body to its reader after all bodies that arrived earlier, and does not wait for later ones', async () => {
    arrive(0, 20);
    await nextTurn();
    arrive(20, 22);
    await nextTurn();
    expect(given).to.deep.equal(Array.from({ length: 22 }, (_, number) => number));
    arrive(22, 23);
    await nextTurn();
    expect(given).to.have.length(23);
  });
});

describe('ServedRequest', () => {
  let server: Server<typeof ServedRequest>;

  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  /** Starts a server, and a request to it whose Content-Length is `length`. */
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
    void served.receive(response, new BodyMemory()).then((bytes) => response.end(bytes));
  }

  async function answerOf(sent: ClientRequest): Promise<string> {
    const [answer] = (await once(sent, 'response')) as [AsyncIterable<Buffer>];
    let text = '';
    for await (const chunk of answer) text += chunk.toString();
    return text;
  }

  it('receives its body in chunks, after which Node reports the request as completely read', async () => {
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

  it('receives the parts that arrived before its reader requested the body', async () => {
    let arrived: [ServedRequest, ServerResponse] | undefined;
    const sent = await post((served, response) => (arrived = [served, response]), 3);
    sent.end('abc');
    await eventually(() => expect(arrived?.[0].complete).to.equal(true));
    if (arrived !== undefined) echo(...arrived);
    expect(await answerOf(sent)).to.equal('abc');
  });

  it('receives an empty body when Content-Length is 0', async () => {
    const sent = await post(echo, 0);
    sent.end();
    expect(await answerOf(sent)).to.equal('');
  });

  it('refuses a body that is too large, and still reads it to the end, so that the client gets the response', async () => {
    const refused: ServedRequest[] = [];
    const sent = await post((served, response) => {
      refused.push(served);
      void served.receive(response, new BodyMemory()).catch((error: unknown) => response.end(toError(error).message));
    }, maxBodyBytes + 1);
    sent.write('a');
    expect(await answerOf(sent)).to.equal(`Request entity too large: limit is ${maxBodyBytes}`);
    sent.end(Buffer.alloc(maxBodyBytes));
    await eventually(() => expect(refused.map(({ complete }) => complete)).to.deep.equal([true]));
  });

  it('refuses a body whose client disconnects', async () => {
    const refusals: unknown[] = [];
    let arrived = 0;
    const sent = await post((served, response) => {
      arrived += 1;
      void served.receive(response, new BodyMemory()).catch((error: unknown) => refusals.push(error));
    }, 6);
    sent.on('error', () => undefined);
    sent.write('abc');
    await eventually(() => expect(arrived).to.equal(1));
    sent.destroy();
    await eventually(() => expect(refusals).to.have.length(1));
    expect(refusals[0]).to.include({ reason: 'BadRequest', message: 'the body could not be read' });
  });
});
