import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MysqlTestDatabase } from '../support/databases/mysql-server.ts';
import { startEtcd } from '../support/databases/etcd-cluster.ts';
import type { EtcdCluster } from '../support/databases/etcd-cluster.ts';
import { OwnedDatabase } from '../support/databases/owned-database.ts';
import { TestDatabase } from '../support/databases/postgres-server.ts';

/** A new database for the servers of a history test. The test calls `drop` when it no longer needs the database. */
export interface HistoryDatabase {
  readonly url: string;
  /** The etcd cluster of the database; undefined for other engines. */
  readonly cluster?: EtcdCluster;
  /** The database server; undefined if the database has no server whose sessions can be ended. */
  readonly server: { endSessions(clientPorts?: readonly number[]): Promise<void> } | undefined;
  drop(): Promise<void>;
}

export type Engine = 'sqlite' | 'sqliteWithWorkers' | 'postgres' | 'mysql' | 'etcd';

/** Creates a database of an engine; skips the tests if the engine's server is not available. */
export async function createDatabase(engine: Engine, context: Mocha.Context): Promise<HistoryDatabase> {
  if (engine === 'sqlite') {
    const directory = await mkdtemp(join(tmpdir(), 'homeostat-history-'));
    const drop = (): Promise<void> => rm(directory, { recursive: true });
    return { url: `sqlite:${join(directory, 'history.db')}`, server: undefined, drop };
  }
  if (engine === 'sqliteWithWorkers') {
    const owned = await OwnedDatabase.create();
    return { url: owned.url, server: undefined, drop: () => owned.drop() };
  }
  if (engine === 'etcd') {
    const cluster = await startEtcd(context, { proxied: true });
    return { url: cluster.url('/history'), cluster, server: undefined, drop: () => cluster.stop() };
  }
  const server = await (engine === 'postgres' ? TestDatabase.create(context) : MysqlTestDatabase.create(context));
  return { url: server.url, server, drop: () => server.drop() };
}
