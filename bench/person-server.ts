import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import type { ApiServerOptions } from '@homeostat/apiserver';
import type { Child } from './child.ts';
import { formatRequest } from './http-load.ts';
import { newPerson, personsPath, threeIndexes } from './person.ts';

/** Starts the server of a child `api-server` with the kind Person; resolves with its URL. */
export async function startedServer(child: Child, options: ApiServerOptions): Promise<string> {
  const url = await child.call<string>('startWith', options);
  await child.call('register', threeIndexes);
  return url;
}

/** The owner of a token. */
export interface TokenOwner {
  readonly token: string;
  readonly user: string;
  /** Default: `system:masters`. */
  readonly group?: string;
}

/** Writes the file of tokens for a server. */
export async function writeTokenFile(path: string, owners: readonly TokenOwner[]): Promise<void> {
  const lines = owners.map(({ token, user, group = 'system:masters' }) => {
    const sha256 = createHash('sha256').update(token).digest('hex');
    return `{ user: ${user}, groups: ['${group}'], sha256: ${sha256} }`;
  });
  await writeFile(path, `tokens: [${lines.join(', ')}]\n`, { mode: 0o600 });
}

/** Returns the creation of another person at each call. */
export function creations(prefix: string, token?: string): () => string {
  let number = 0;
  return () => {
    number += 1;
    const body = JSON.stringify(newPerson({ name: `${prefix}-${number.toString()}`, number }));
    return formatRequest('POST', personsPath, token === undefined ? body : { body, token });
  };
}
