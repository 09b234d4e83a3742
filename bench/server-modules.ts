// The parts of a server without the server around them are no public entry of its package: these are compiled modules of it.
import type * as entry from '../apiserver/index/entry.ts';
import type * as kindCache from '../apiserver/index/kind-cache.ts';
import type * as objectCodec from '../apiserver/registry/object/object-codec.ts';
import type * as databaseUrl from '../apiserver/store/open/database-url.ts';
import type * as groupCommit from '../apiserver/store/group-commit.ts';
import type * as commitStatements from '../apiserver/store/postgres/commit-statements.ts';
import type * as postgresConnection from '../apiserver/store/postgres/postgres-connection.ts';
import type * as postgresStatements from '../apiserver/store/postgres/postgres-statements.ts';

export type GroupCommit = groupCommit.GroupCommit;
export type PostgresConnection = postgresConnection.PostgresConnection;
export type Operation = Parameters<GroupCommit['submit']>[0];
export type Store = Awaited<ReturnType<typeof databaseUrl.openStore>>;

/** Modules by their path in the package. */
interface ServerModules {
  readonly 'index/entry': typeof entry;
  readonly 'index/kind-cache': typeof kindCache;
  readonly 'registry/object-codec': typeof objectCodec;
  readonly 'store/database-url': typeof databaseUrl;
  readonly 'store/group-commit': typeof groupCommit;
  readonly 'store/postgres/commit-statements': typeof commitStatements;
  readonly 'store/postgres/postgres-connection': typeof postgresConnection;
  readonly 'store/postgres/postgres-statements': typeof postgresStatements;
}

export async function loadModule<Name extends keyof ServerModules>(name: Name): Promise<ServerModules[Name]> {
  const file = new URL(`./${name}.js`, import.meta.resolve('@homeostat/apiserver'));
  return (await import(file.href)) as ServerModules[Name];
}
