import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MysqlTestDatabase } from '../support/mysql-server.ts';
import { TestDatabase } from '../support/postgres-server.ts';

/** A fresh database for one run. */
export interface HistoryDatabase {
  readonly url: string;
  /** The server of the database; a file has none. */
  readonly server: { endSessions(clientPorts?: readonly number[]): Promise<void> } | undefined;
  drop(): Promise<void>;
}

export type Engine = 'sqlite' | 'postgres' | 'mysql';

/** Skips the tests if there is no such server. */
export async function createDatabase(engine: Engine, context: Mocha.Context): Promise<HistoryDatabase> {
  if (engine === 'sqlite') {
    const directory = await mkdtemp(join(tmpdir(), 'homeostat-history-'));
    const drop = (): Promise<void> => rm(directory, { recursive: true });
    return { url: `sqlite:${join(directory, 'history.db')}`, server: undefined, drop };
  }
  const server = await (engine === 'postgres' ? TestDatabase.create(context) : MysqlTestDatabase.create(context));
  return { url: server.url, server, drop: () => server.drop() };
}
