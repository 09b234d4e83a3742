import { EtcdTestDatabase } from './etcd-database.ts';
import { OwnedDatabase } from './owned-database.ts';
import { TestDatabase } from './postgres-server.ts';

export interface SharedDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** Creates a new database; skips the tests if no server is available. */
export type CreateDatabase = (context: Mocha.Context) => Promise<SharedDatabase>;

/**
 * The engines with a database server. MySQL is missing, because it differs from PostgreSQL only in the store, and the
 * tests of the store run on MySQL. etcd runs only in the slow tests, because its processes take more CPU time than the
 * tests.
 */
const databaseServers = {
  PostgreSQL: (context) => TestDatabase.create(context),
  'etcd [slow]': (context) => EtcdTestDatabase.create(context),
} satisfies Readonly<Record<string, CreateDatabase>>;

/** In the short tier, suites run only on a SQLite file, because this needs no database server. */
const engines: Readonly<Record<string, CreateDatabase>> = {
  'PostgreSQL [slow]': databaseServers.PostgreSQL,
  'etcd [slow]': databaseServers['etcd [slow]'],
  'SQLite with workers': () => OwnedDatabase.create(),
};

/** Describes a suite once for each engine with a database server. */
export function describeOnDatabaseServers(title: string, suite: (create: CreateDatabase) => void): void {
  for (const [engine, create] of Object.entries(databaseServers))
    describe(`${title}, on ${engine}`, () => suite(create));
}

/** Describes a suite once for each engine whose databases several servers can share. */
export function describeOnShared(title: string, suite: (create: CreateDatabase) => void): void {
  for (const [engine, create] of Object.entries(engines)) describe(`${title}, on ${engine}`, () => suite(create));
}

/**
 * Defines a test once for each engine whose databases several servers can share. The test gets the URL of a new
 * database.
 */
export function itOnShared(title: string, test: (url: string) => Promise<void>): void {
  for (const [engine, create] of Object.entries(engines)) {
    it(`${title}, on ${engine}`, async function run() {
      const database = await create(this);
      try {
        await test(database.url);
      } finally {
        await database.drop();
      }
    });
  }
}
