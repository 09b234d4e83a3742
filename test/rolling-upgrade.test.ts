import { once } from 'node:events';
import { eventually, FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { EtcdTestDatabase } from './support/databases/etcd-database.ts';
import { letters as all, newLetter } from './support/models/models.ts';
import { MysqlTestDatabase } from './support/databases/mysql-server.ts';
import { TestDatabase } from './support/databases/postgres-server.ts';
import { serve } from './support/commands/serve-command.ts';
import { TestServer } from './support/servers/test-server.ts';

interface Upgradable {
  readonly url: string;
  upgrade(...changes: readonly string[]): Promise<void>;
  drop(): Promise<void>;
}

const databases: readonly {
  readonly name: string;
  readonly create: (context: Mocha.Context) => Promise<Upgradable>;
  /**
   * A change of the schema that makes the database requests of the older server fail. In SQL databases, the change is a
   * statement. In etcd, it is a JSON object with the new fields of the key `head`.
   */
  readonly breaking: string;
  /** The schema version that this version of the program uses. */
  readonly schema: number;
}[] = [
  {
    name: 'PostgreSQL',
    create: (context) => TestDatabase.create(context),
    breaking: 'ALTER TABLE homeostat_log RENAME COLUMN previous TO earlier',
    schema: 2,
  },
  {
    name: 'MySQL',
    create: (context) => MysqlTestDatabase.create(context),
    breaking: 'ALTER TABLE log CHANGE COLUMN previous earlier MEDIUMBLOB',
    schema: 2,
  },
  {
    name: 'etcd',
    create: (context) => EtcdTestDatabase.create(context),
    breaking: '{ "revisions": [1, 2] }',
    schema: 1,
  },
];

const letters = all.replace('letters', 'namespaces/default/letters');
for (const { name, create, breaking, schema } of databases) {
  const isOutdated = new RegExp(
    String.raw`^\[-\]database failed: .* version ${schema + 1}, this program knows ${schema}: update Homeostat$`,
    'm',
  );

  describe(`a newer version that starts on a database of ${name}${name === 'etcd' ? ' [slow]' : ''}`, () => {
    let database: Upgradable;
    let server: TestServer;
    let clock: FakeClock;

    beforeEach(async function start() {
      database = await create(this);
      clock = new FakeClock();
    });

    afterEach(async () => {
      await server?.stop();
      await database?.drop();
    });

    async function startServer(): Promise<void> {
      server = await TestServer.start({ database: database.url, clock });
      await server.create(letters, newLetter('ann'));
    }

    async function healthSays(): Promise<readonly (readonly [status: number, text: string])[]> {
      const answers = await Promise.all([server.get('/readyz'), server.get('/livez')]);
      return answers.map(({ status, text }) => [status, text]);
    }

    for (const changes of [[], [breaking]]) {
      const which = changes.length === 0 ? 'would succeed' : 'would fail';
      const tier = changes.length === 0 ? ' [slow]' : '';
      it(`makes an older server refuse writes and fail its health checks (its statements ${which} on the new schema)${tier}`, async () => {
        await startServer();
        expect(await healthSays()).to.deep.equal([
          [200, 'ok'],
          [200, 'ok'],
        ]);
        await database.upgrade(...changes);
        const refused = await server.post(letters, newLetter('bob'));
        expect([refused.status, refused.body.reason]).to.deep.equal([503, 'ServiceUnavailable']);
        expect((await server.patch(`${letters}/ann`, { metadata: { labels: { read: 'no' } } })).status).to.equal(503);
        const { items } = (await server.get(`${letters}?resourceVersion=0`)).body;
        expect(items.map(({ metadata }: { metadata: { name: string } }) => metadata.name)).to.deep.equal(['ann']);
        for (const [status, text] of await healthSays()) {
          expect(status).to.equal(503);
          expect(text).to.match(isOutdated);
        }
        expect(await server.api.outdated).to.include({ code: 'newer' });
      });
    }

    it('is noticed by an older server that receives no writes [slow]', async () => {
      await startServer();
      await database.upgrade();
      await eventually(async () => {
        await clock.advance(1_000);
        return (await server.get('/livez')).status === 503;
      });
      expect((await server.get('/livez')).text).to.match(isOutdated);
    });

    it('makes an older `homeostat serve` stop in order with exit code 1 [slow]', async () => {
      const { child, log } = await serve('--database', database.url);
      const exited = once(child, 'exit');
      await database.upgrade();
      expect((await exited)[0]).to.equal(1);
      const messages = log.map((line) => (JSON.parse(line) as { msg: string }).msg);
      expect(messages).to.include('a newer version has upgraded the database: stopping');
      expect(messages.at(-1)).to.equal('stopped');
    });
  });
}
