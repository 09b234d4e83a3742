// Loads the parts of a server as compiled modules of its package, because the package does not export them.
import type * as rbacAuthorizer from '../../apiserver/authorization/rbac-authorizer.ts';
import type * as accountIssuer from '../../apiserver/identity/accounts/account-issuer.ts';
import type * as signingKeys from '../../apiserver/identity/accounts/signing-keys.ts';
import type * as administratorToken from '../../apiserver/identity/administrator-token.ts';
import type * as authenticator from '../../apiserver/identity/authenticator.ts';
import type * as jwtAuthenticator from '../../apiserver/identity/jwt/jwt-authenticator.ts';
import type * as listedTokens from '../../apiserver/identity/tokens/listed-tokens.ts';
import type * as createEntry from '../../apiserver/index/create-entry.ts';
import type * as kindCache from '../../apiserver/index/kind-cache.ts';
import type * as objectCodec from '../../apiserver/registry/object/object-codec.ts';
import type * as databaseUrl from '../../apiserver/store/open/database-url.ts';
import type * as etcdCluster from '../../apiserver/store/etcd/etcd-cluster.test-support.ts';
import type * as etcdConnection from '../../apiserver/store/etcd/etcd-connection.ts';
import type * as groupCommit from '../../apiserver/store/group-commit.ts';
import type * as commitStatements from '../../apiserver/store/postgres/commit-statements.ts';
import type * as postgresConnection from '../../apiserver/store/postgres/postgres-connection.ts';
import type * as postgresStatements from '../../apiserver/store/postgres/postgres-statements.ts';

export type RbacAuthorizer = rbacAuthorizer.RbacAuthorizer;
export type GroupCommit = groupCommit.GroupCommit;
export type EtcdCluster = etcdCluster.EtcdCluster;
export type EtcdConnection = etcdConnection.EtcdConnection;
export type PostgresConnection = postgresConnection.PostgresConnection;
export type Operation = Parameters<GroupCommit['submit']>[0];
export type Store = Awaited<ReturnType<typeof databaseUrl.openStore>>;

/** The types of the modules, by their paths in the package. */
interface ServerModules {
  readonly 'authorization/rbac-authorizer': typeof rbacAuthorizer;
  readonly 'identity/accounts/account-issuer': typeof accountIssuer;
  readonly 'identity/accounts/signing-keys': typeof signingKeys;
  readonly 'identity/administrator-token': typeof administratorToken;
  readonly 'identity/authenticator': typeof authenticator;
  readonly 'identity/jwt/jwt-authenticator': typeof jwtAuthenticator;
  readonly 'identity/tokens/listed-tokens': typeof listedTokens;
  readonly 'index/create-entry': typeof createEntry;
  readonly 'index/kind-cache': typeof kindCache;
  readonly 'registry/object/object-codec': typeof objectCodec;
  readonly 'store/open/database-url': typeof databaseUrl;
  readonly 'store/etcd/etcd-cluster.test-support': typeof etcdCluster;
  readonly 'store/etcd/etcd-connection': typeof etcdConnection;
  readonly 'store/group-commit': typeof groupCommit;
  readonly 'store/postgres/commit-statements': typeof commitStatements;
  readonly 'store/postgres/postgres-connection': typeof postgresConnection;
  readonly 'store/postgres/postgres-statements': typeof postgresStatements;
}

export async function loadModule<Name extends keyof ServerModules>(name: Name): Promise<ServerModules[Name]> {
  const file = new URL(`../../../apiserver/dist/${name}.js`, import.meta.url);
  return (await import(file.href)) as ServerModules[Name];
}
