// The store without a server around it is no public entry of its package: these are compiled modules of it.
import type * as databaseUrl from '../apiserver/store/database-url.ts';
import type * as groupCommit from '../apiserver/store/group-commit.ts';
import type * as commitStatements from '../apiserver/store/postgres/commit-statements.ts';
import type * as postgresConnection from '../apiserver/store/postgres/postgres-connection.ts';
import type * as postgresStatements from '../apiserver/store/postgres/postgres-statements.ts';

export type GroupCommit = groupCommit.GroupCommit;
export type PostgresConnection = postgresConnection.PostgresConnection;
export type Operation = Parameters<GroupCommit['submit']>[0];
export type Store = Awaited<ReturnType<typeof databaseUrl.openStore>>;

/** Modules by their path in the store's folder. */
interface StoreModules {
  readonly 'database-url': typeof databaseUrl;
  readonly 'group-commit': typeof groupCommit;
  readonly 'postgres/commit-statements': typeof commitStatements;
  readonly 'postgres/postgres-connection': typeof postgresConnection;
  readonly 'postgres/postgres-statements': typeof postgresStatements;
}

export async function loadStoreModule<Name extends keyof StoreModules>(name: Name): Promise<StoreModules[Name]> {
  const file = new URL(`./store/${name}.js`, import.meta.resolve('@homeostat/apiserver'));
  return (await import(file.href)) as StoreModules[Name];
}
