import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { Client } from 'pg';
import { startEtcd } from './support/databases/etcd-cluster.ts';
import type { EtcdCluster, EtcdMember } from './support/databases/etcd-cluster.ts';
import { TestDatabase } from './support/databases/postgres-server.ts';
import { TestServer } from './support/servers/test-server.ts';
import type { Answer } from './support/servers/test-server.ts';

const path = '/apis/people.example.com/v1alpha1/persons';

function person(name: string, annotations: object = {}): object {
  const metadata = { name, annotations };
  return { apiVersion: 'people.example.com/v1alpha1', kind: 'Person', metadata, spec: { name, slug: name } };
}

/** Expects 503 with the header `Retry-After`. */
function expectUnavailable(answer: Answer): void {
  expect(answer.status, answer.text).to.equal(503);
  expect(answer.headers['retry-after']).to.equal('1');
  expect(answer.body).to.include({ kind: 'Status', reason: 'ServiceUnavailable' });
}

describe('an API server whose PostgreSQL has problems', () => {
  let database: TestDatabase;
  let server: TestServer;
  /** A second session in the server's database, with all privileges. */
  let admin: Client;
  let written = 0;

  before(async function start() {
    database = await TestDatabase.create(this);
    server = await TestServer.start({ database: database.url });
    admin = new Client({ connectionString: database.url });
    await admin.connect();
  });
  after(async () => {
    await server?.stop();
    await admin?.end();
    await database?.drop();
  });

  const write = (): Promise<Answer> => server.post(path, person(`p-${(written += 1)}`));
  const ready = async (): Promise<string> => (await server.get('/readyz')).text;

  /**
   * Expects that the server accepts writes again without a restart, and that it has all acknowledged writes and no
   * others.
   */
  async function expectRecovery(acknowledged: number): Promise<void> {
    await eventually(async () => (await write()).status === 201, { timeoutMs: 15_000 });
    await eventually(async () => (await ready()) === 'ok');
    const { rows } = await admin.query<{ count: string }>(
      "SELECT count(*) FROM homeostat_kv WHERE key LIKE '%/persons/%'",
    );
    const { body } = await server.get(path);
    expect([body.total, Number(rows[0]?.count)]).to.deep.equal([acknowledged + 1, acknowledged + 1]);
  }

  async function count(): Promise<number> {
    return (await server.get(path)).body.total as number;
  }

  it('responds with 503 to writes while PostgreSQL is read-only, and continues with reads [slow]', async () => {
    await write();
    const before = await count();
    const name = new URL(database.url).pathname.slice(1);
    await admin.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    try {
      await endSessions();
      // The first write waits, and then gets 504, because its session has ended. So the test repeats the write until it
      // gets 503.
      await eventually(async () => (await write()).status === 503, { timeoutMs: 15_000 });
      expectUnavailable(await write());
      expect(await ready()).to.include('[-]database failed: cannot write');
      expect((await server.get('/livez')).status).to.equal(200);
      expect(await count()).to.equal(before);
    } finally {
      await admin.query('SET default_transaction_read_only = off');
      await admin.query(`ALTER DATABASE ${name} RESET default_transaction_read_only`);
    }
    await endSessions();
    await expectRecovery(before);
  });

  it('refuses writes while the disk of PostgreSQL is full, keeps its data, and continues when there is space', async () => {
    const before = await count();
    await admin.query(`CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$`);
    await admin.query('CREATE TRIGGER full_disk BEFORE INSERT ON homeostat_log FOR EACH ROW EXECUTE FUNCTION fill()');
    expectUnavailable(await write());
    expect(await ready()).to.include('No space left on device');
    expect(await count()).to.equal(before);
    await admin.query('DROP TRIGGER full_disk ON homeostat_log');
    await expectRecovery(before);
  });

  it('responds with 503 to writes and consistent reads while PostgreSQL refuses all connections, and then recovers [slow]', async () => {
    const before = await count();
    const name = new URL(database.url).pathname.slice(1);
    // Simulates a database that has no free connections. A test cannot use them all up, because a superuser always gets
    // one.
    const elsewhere = new Client({ connectionString: new URL('/postgres', database.url).href });
    await elsewhere.connect();
    await elsewhere.query(`ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS false`);
    try {
      await endSessions();
      await eventually(async () => (await write()).status === 503, { timeoutMs: 15_000 });
      expectUnavailable(await write());
      expectUnavailable(await server.get(path));
      expect((await server.get(`${path}?resourceVersion=0`)).body.total).to.equal(before);
      expect(await ready()).to.include('[-]database failed');
    } finally {
      await elsewhere.query(`ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS true`);
      await elsewhere.end();
    }
    await expectRecovery(before);
  });

  it('fails writes after a timeout while another session locks the revision counter, and then recovers [slow]', async () => {
    const before = await count();
    await admin.query('BEGIN');
    await admin.query('SELECT revision FROM homeostat_counter FOR UPDATE');
    const answers = await Promise.all([write(), write(), server.get(path)]);
    await admin.query('ROLLBACK');
    expectUnavailable(answers[0]);
    expectUnavailable(answers[1]);
    expect([answers[2].status, answers[2].body.total]).to.deep.equal([200, before]);
    await expectRecovery(before);
  });

  async function endSessions(): Promise<void> {
    await admin.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
  }
});

describe('an API server whose etcd has problems [slow]', () => {
  let cluster: EtcdCluster;
  let member: EtcdMember;
  let server: TestServer;
  let written = 0;

  before(async function start() {
    cluster = await startEtcd(this, { size: 1, args: quota(8) });
    [member] = cluster.members as [EtcdMember];
    server = await TestServer.start({ database: cluster.url('/faults') });
  });
  after(async () => {
    await server?.stop();
    await cluster?.stop();
  });

  const quota = (megabytes: number): string[] => [`--quota-backend-bytes=${megabytes * 1024 * 1024}`];
  const write = (bytes = 0): Promise<Answer> =>
    server.post(path, person(`p-${(written += 1)}`, { filling: 'x'.repeat(bytes) }));
  const count = async (): Promise<number> => (await server.get(`${path}?resourceVersion=0`)).body.total as number;
  const ready = async (): Promise<string> => (await server.get('/readyz')).text;

  /**
   * Expects that the server accepts writes again without a restart, and that it has all acknowledged writes and no
   * others.
   */
  async function expectRecovery(acknowledged: number): Promise<void> {
    await eventually(async () => (await write()).status === 201, { timeoutMs: 15_000 });
    await eventually(async () => (await ready()) === 'ok');
    const keys = (await cluster.ctl(['get', '/faults/object/', '--prefix', '--keys-only'])).split('\n');
    const stored = keys.filter((key) => key.includes('/persons/')).length;
    expect([await count(), stored]).to.deep.equal([acknowledged + 1, acknowledged + 1]);
  }

  it('refuses writes and consistent reads while its etcd member does not run, serves lists with resourceVersion=0, and then recovers', async () => {
    expect((await write()).status).to.equal(201);
    const before = await count();
    await cluster.kill(member);
    await eventually(async () => (await write()).status === 503, { timeoutMs: 15_000 });
    expectUnavailable(await write());
    expectUnavailable(await server.get(path));
    expect(await count()).to.equal(before);
    expect(await ready()).to.include('[-]database failed');
    expect((await server.get('/livez')).status).to.equal(200);
    cluster.start(member);
    await expectRecovery(before);
  });

  it('explains how to repair an exceeded quota, continues with reads, and with writes after the quota is raised and the alarm is disarmed', async () => {
    let acknowledged = await count();
    let answer = await write(200_000);
    for (; answer.status === 201; answer = await write(200_000)) acknowledged += 1;
    expectUnavailable(answer);
    expect(await ready())
      .to.include('database space exceeded')
      .and.include('etcdctl alarm disarm');
    expect((await server.get('/livez')).status).to.equal(200);
    expect((await server.get(path)).body.total).to.equal(acknowledged);
    await cluster.kill(member);
    cluster.start(member, quota(64));
    await cluster.ready([member]);
    await cluster.ctl(['alarm', 'disarm']);
    await expectRecovery(acknowledged);
  });
});
