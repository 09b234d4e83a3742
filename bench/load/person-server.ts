import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import type { ApiServerOptions } from '@homeostat/apiserver';
import type { Child } from '../processes/child.ts';
import { formatRequest, HttpConnection } from './http-load.ts';
import { newPerson, personsPath, threeIndexes } from './person.ts';

/** Starts the server in a child `api-server`, with the kind Person. Resolves with its URL. */
export async function startedServer(child: Child, options: ApiServerOptions): Promise<string> {
  const url = await child.call<string>('startWith', options);
  await child.call('register', threeIndexes);
  return url;
}

/** A token, and the user and group to which it belongs. */
export interface TokenOwner {
  readonly token: string;
  readonly user: string;
  /** The group of the user. Default: `system:masters`. */
  readonly group?: string;
}

/** Writes a server's token file. */
export async function writeTokenFile(path: string, owners: readonly TokenOwner[]): Promise<void> {
  const lines = owners.map(({ token, user, group = 'system:masters' }) => {
    const sha256 = createHash('sha256').update(token).digest('hex');
    return `{ user: ${user}, groups: ['${group}'], sha256: ${sha256} }`;
  });
  await writeFile(path, `tokens: [${lines.join(', ')}]\n`, { mode: 0o600 });
}

/** Returns a function that, at each call, returns a request that creates a new person. */
export function creations(prefix: string, token?: string): () => string {
  let number = 0;
  return () => {
    number += 1;
    const body = JSON.stringify(newPerson({ name: `${prefix}-${number.toString()}`, number }));
    return formatRequest('POST', personsPath, token === undefined ? body : { body, token });
  };
}

/** The token of a user whose role allows reads and writes of persons. */
export const userToken = 'token-of-a-user-by-a-role';

const masterToken = 'token-of-the-administrator';

/**
 * Starts a server as {@link startedServer} does, but with a token file, so that requests need a token. The paths of its
 * files begin with `path`.
 */
export async function protectedServer(child: Child, path: string): Promise<string> {
  const tokenFile = `${path}-tokens.yaml`;
  await writeTokenFile(tokenFile, [
    { token: masterToken, user: 'master' },
    { token: userToken, user: 'user', group: 'writers' },
  ]);
  const url = await startedServer(child, { database: `sqlite:${path}.db`, tokenFile });
  await allowWriters(url);
  return url;
}

/** Gives the group `writers` a role that allows reads and writes of persons. */
async function allowWriters(url: string): Promise<void> {
  using connection = await HttpConnection.connect(url);
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const apiGroup = 'rbac.authorization.k8s.io';
  const metadata = { name: 'writers' };
  const rules = [
    { apiGroups: ['people.example.com'], resources: ['persons'], verbs: ['get', 'list', 'create', 'update'] },
  ];
  const roleRef = { apiGroup, kind: 'ClusterRole', name: 'writers' };
  const subjects = [{ apiGroup, kind: 'Group', name: 'writers' }];
  const create = (plural: string, object: object): Promise<void> =>
    connection.send(formatRequest('POST', `${rbac}/${plural}`, { body: JSON.stringify(object), token: masterToken }));
  await create('clusterroles', { apiVersion, kind: 'ClusterRole', metadata, rules });
  await create('clusterrolebindings', { apiVersion, kind: 'ClusterRoleBinding', metadata, roleRef, subjects });
}
