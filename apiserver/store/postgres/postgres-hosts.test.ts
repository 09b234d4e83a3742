import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';

import { databaseOf, passTime, PostgresTestServer } from './postgres-database.test-support.ts';
import { create, rejectionOf, scanned, written } from '../store-operations.fixture.ts';

/**
 * The error message "the database system is starting up":
 * https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
const startingUp = errorResponse('SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0');

function errorResponse(fields: string): Buffer {
  const message = Buffer.from(`E....${fields}`, 'latin1');
  message.writeInt32BE(message.length - 1, 1);
  return message;
}

/** The messages AuthenticationOk and ReadyForQuery. */
const letIn = Buffer.from('R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I', 'latin1');

/** Two addresses on which no server listens, because the ports are reserved. */
const [nobody, nobodyElse] = ['127.0.0.1:1', '127.0.0.1:2'];

describe('PostgresStore with several servers', () => {
  const server = PostgresTestServer.use();
  const fakes: Server[] = [];
  const sockets = new Set<Socket>();

  after(async () => {
    // The servers stop listening first, so that no connection arrives after the open sockets are destroyed.
    const closed = fakes.map((fake) => new Promise((resolve) => fake.close(resolve)));
    for (const socket of sockets) socket.destroy();
    await Promise.all(closed);
  });

  /** Starts a server that calls `serve` for each connection. Returns its `host:port`. */
  async function startFake(serve: (socket: Socket) => void): Promise<string> {
    const fake = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
      serve(socket);
    });
    fakes.push(fake);
    await once(fake.listen(0, '127.0.0.1'), 'listening');
    return `127.0.0.1:${(fake.address() as AddressInfo).port}`;
  }

  function withHosts(url: string, ...hosts: readonly string[]): string {
    return url.replace(new URL(url).host, hosts.join(','));
  }

  function hostOf(url: string): string {
    return new URL(url).host;
  }

  it('uses the first server that responds, for all its sessions', async () => {
    const url = await server.createDatabase();
    const { store } = await server.open(withHosts(url, nobody, hostOf(url), nobodyElse));
    const woken: number[] = [];
    const stop = store.subscribe((revision) => woken.push(revision));
    const [first = 0] = await written(store, create('a', '1'));
    await eventually(async () => (await server.sessions(url)) === 3);
    await server.endSessions(url);
    const [second = 0] = await written(store, create('b', '2'));
    await eventually(() => expect(woken).to.deep.equal([first, second]));
    expect(await scanned(store)).to.have.lengthOf(2);
    stop();
    await store.close();
  });

  it('tries the next address after 2 s if a server is silent, or if a pooler accepts the login but has no server [slow]', async () => {
    const url = await server.createSchema();
    const silent = await startFake((socket) => socket.resume());
    const pooler = await startFake((socket) => void socket.once('data', () => socket.write(letIn)));
    // The timers of the driver use real time. The store has a clock that stands still, so that its own time limits do
    // not expire.
    const store = server.store(withHosts(url, silent, pooler, hostOf(url)), { clock: new FakeClock() });
    await store.open();
    await written(store, create('a', '1'));
    await store.close();
  });

  it('waits for a server that is starting up, whether the URL has only this server or several [slow]', async () => {
    for (const others of [[], [nobody]]) {
      const url = await server.createSchema();
      let refusals = 0;
      const host = await startFake((socket) => {
        if (refusals < 3) {
          refusals += 1;
          socket.once('data', () => socket.end(startingUp));
          return;
        }
        const { hostname, port } = new URL(url);
        const target = connect({ host: hostname, port: Number(port || 5432) });
        sockets.add(target);
        target.on('error', () => socket.destroy());
        socket.pipe(target).pipe(socket);
      });
      const { store } = await server.open(withHosts(url, ...others, host));
      expect(refusals).to.equal(3);
      await store.close();
    }
  });

  it('names the problem of each server, but never the password', async () => {
    const clock = new FakeClock();
    const starting = await startFake((socket) => void socket.once('data', () => socket.end(startingUp)));
    const store = server.store(`postgres://me:secret@${nobody},${starting}/data`, { clock });
    const error = await passTime(clock, rejectionOf(store.open()));
    expect(error).to.include({ name: 'StoreError', code: 'io' });
    expect(String(error)).to.include('none of 2 servers');
    expect(String(error)).to.match(/127\.0\.0\.1:1: connect ECONNREFUSED.*; .*starting up/);
    expect(String(error)).to.include(starting).and.not.to.include('secret');
  });

  it('skips servers with read-only transactions until one accepts writes, unless target_session_attrs is any', async () => {
    const url = await server.createDatabase();
    const several = withHosts(url, hostOf(url), nobody);
    const clock = new FakeClock();
    const store = server.store(several, { clock });
    await store.open();
    await server.query(`ALTER DATABASE ${databaseOf(url)} SET default_transaction_read_only = on`);
    await server.endSessions(url);
    const error = await eventually(() => passTime(clock, rejectionOf(store.currentRevision())));
    expect(String(error)).to.match(/none of 2 servers.*: 127\.0\.0\.1:\d+ accepts no writes.*; .*ECONNREFUSED/);
    const anywhere = server.store(`${several}?target_session_attrs=any`);
    expect(await rejectionOf(anywhere.open())).to.include({ code: 'readOnly' });
    await server.query(`ALTER DATABASE ${databaseOf(url)} RESET default_transaction_read_only`);
    await eventually(() => passTime(clock, written(store, create('a', '1'))));
    // The store scans in a separate session, which may not have reconnected yet, so the test repeats the scan.
    expect(await eventually(() => passTime(clock, scanned(store)))).to.have.lengthOf(1);
    await store.close();
  });
});
