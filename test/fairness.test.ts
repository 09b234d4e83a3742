import { once } from 'node:events';
import { request } from 'node:http';
import type { ClientRequest } from 'node:http';
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Socket } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { Person, person, persons } from './support/models/models.ts';
import { expectRefusal } from './support/servers/refusal.ts';
import { TestServer } from './support/servers/test-server.ts';

const token = 'correct-horse-battery-staple';
const annToken = 'token-of-ann-who-floods-the-server';
const authorization = `Bearer ${token}`;
const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';

describe('users who share a server', () => {
  let folder: string;
  let server: TestServer;
  const held: ClientRequest[] = [];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fairness-'));
    const tokenFile = join(folder, 'tokens.yaml');
    const sha256 = createHash('sha256').update(annToken).digest('hex');
    const owner = `{ user: ann, groups: ['system:masters'], sha256: ${sha256} }`;
    await writeFile(tokenFile, `tokens: [${owner}]\n`, { mode: 0o600 });
    server = await TestServer.start({ token, tokenFile, maxWatchesPerUser: 3, maxUnknownConnectionsPerAddress: 20 });
  });

  afterEach(() => {
    for (const call of held.splice(0)) call.destroy();
  });

  after(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });

  /** Sends the headers of a creation without its body, so that the request runs until the test ends. */
  function hold(path: string, credential: string): ClientRequest {
    const headers = { authorization: credential, 'content-type': 'application/json', 'content-length': '1000' };
    const call = request({ host: '127.0.0.1', port: server.port, method: 'POST', path, headers, agent: false });
    call.on('error', () => undefined);
    call.flushHeaders();
    held.push(call);
    return call;
  }

  async function metric(pattern: RegExp): Promise<number> {
    const { text } = await server.get('/metrics', { authorization });
    return Number(pattern.exec(text)?.[1]);
  }

  /** Starts `count` requests of ann; some of them run, and the others are queued. */
  async function flood(count: number): Promise<void> {
    // After a request of a second user, the users share the seats of the server.
    await server.get(persons, { authorization });
    for (let index = 0; index < count; index += 10) {
      for (let at = 0; at < 10; at += 1) hold(persons, `Bearer ${annToken}`);
      await eventually(async () => {
        const running = await metric(/executing_seats\{priority_level="people"\} (\d+)/);
        return running + (await metric(/inqueue_requests\{priority_level="people"\} (\d+)/)) >= index + 10;
      });
    }
  }

  it('wait only for their own requests, not for the requests of another user; requests for Leases do not wait [slow]', async () => {
    await flood(100);
    expect(await metric(/executing_seats\{priority_level="people"\} (\d+)/)).to.equal(4);
    expect(await metric(/inqueue_requests\{priority_level="people"\} (\d+)/)).to.equal(96);
    expect((await server.post(persons, person('ann'), { headers: { authorization } })).status).to.equal(201);
    for (const credential of [authorization, `Bearer ${annToken}`]) {
      const lease = { metadata: { generateName: 'lease-' }, spec: { holderIdentity: 'me' } };
      expect((await server.post(leases, lease, { headers: { authorization: credential } })).status).to.equal(201);
    }
  });

  it("do not delay plugins in the server's process, which need no seat", async () => {
    await flood(40);
    const client = server.api.createPluginClient('shop');
    await client.create(Person, { metadata: { name: 'of-a-plugin' }, spec: { name: 'P' } });
    expect(await metric(/inqueue_requests\{priority_level="people"\} (\d+)/)).to.equal(36);
  });

  it('get 429 for a watch beyond the limit, and may open another watch once one has ended', async () => {
    const path = `${persons}?watch=true`;
    const watches = [];
    for (let index = 0; index < 3; index += 1) watches.push(await server.watch(path, { authorization }));
    expectRefusal(await server.get(path, { authorization }), {
      reason: 'TooManyRequests',
      message: /^too many watches of one user, please try again later$/,
    });
    const other = await server.watch(path, { authorization: `Bearer ${annToken}` });
    watches[0]?.close();
    await eventually(async () => {
      const again = await server.watch(path, { authorization }).catch(() => undefined);
      again?.close();
      return again !== undefined;
    });
    for (const watch of [...watches, other]) watch.close();
  });

  it('get 429 on a new connection when too many other connections from the same address have sent no valid credential', async () => {
    const sockets: Socket[] = [];
    const connect = async (): Promise<Socket> => {
      const socket = server.connect();
      await once(socket, 'connect');
      sockets.push(socket);
      return socket;
    };
    try {
      const known = await connect();
      known.write(`GET /version HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\n\r\n`);
      await once(known, 'data');
      for (let index = 0; index < 20; index += 1) await connect();
      const excess = await connect();
      excess.write(`GET /version HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\n\r\n`);
      const answer = await textOf(excess);
      expect(answer)
        .to.match(/^HTTP\/1.1 429 /)
        .and.match(/Retry-After: 1\r\n/i);
      expect(answer).to.include('too many connections without a valid credential from one address');
      known.write(`GET /version HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\n\r\n`);
      expect(String((await once(known, 'data'))[0])).to.match(/^HTTP\/1.1 200 /);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
    await eventually(async () => (await server.get('/version', { authorization })).status === 200);
  });
});
