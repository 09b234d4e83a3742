import { EtcdTestDatabase } from './etcd-database.ts';
import { OwnedDatabase } from './owned-database.ts';
import { TestDatabase } from './postgres-server.ts';

export interface SharedDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** Makes a new database; skips the tests if there is no server. */
export type CreateDatabase = (context: Mocha.Context) => Promise<SharedDatabase>;

/** MySQL differs from PostgreSQL only below the store, whose own suites run on it. */
const databaseServers: Readonly<Record<string, CreateDatabase>> = {
  PostgreSQL: (context) => TestDatabase.create(context),
  etcd: (context) => EtcdTestDatabase.create(context),
};

const engines: Readonly<Record<string, CreateDatabase>> = {
  ...databaseServers,
  'SQLite with workers': () => OwnedDatabase.create(),
};

/** Describes a suite once for each engine whose databases are reached over the network. */
export function describeOnDatabaseServers(title: string, suite: (create: CreateDatabase) => void): void {
  for (const [engine, create] of Object.entries(databaseServers))
    describe(`${title}, on ${engine}`, () => suite(create));
}

/** Describes a suite once for each engine whose databases several servers share. */
export function describeOnShared(title: string, suite: (create: CreateDatabase) => void): void {
  for (const [engine, create] of Object.entries(engines)) describe(`${title}, on ${engine}`, () => suite(create));
}

/** A test, once for each of these engines, with the URL of a new database. */
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
