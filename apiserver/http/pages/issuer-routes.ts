import type { Status } from '@homeostat/controller-runtime/api';
import type { Context, Middleware } from 'koa';
import type { AccountIssuer } from '../../identity/accounts/account-issuer.ts';
import { discoveryDocument, discoveryPath, jwksPath, publicKeys } from '../../identity/accounts/issuer-metadata.ts';
import { requireRead } from '../response/cacheable-answer.ts';
import { withoutTrailingSlash } from './health.ts';

const jwksType = 'application/jwk-set+json';

/**
 * Serves the discovery document and the public keys, with which other programs verify tokens of service accounts. A
 * DELETE at the path of the keys deletes all signing keys.
 */
export function issuerRoutes(issuer: AccountIssuer): Middleware {
  const documents = new Map<string, { readonly type: string; readonly read: () => object | Promise<object> }>([
    [discoveryPath, { type: 'application/json', read: () => discoveryDocument(issuer) }],
    [jwksPath, { type: jwksType, read: async () => publicKeys(issuer) }],
  ]);
  return async function answerIssuer(context, next): Promise<void> {
    const found = documents.get(withoutTrailingSlash(context.path));
    if (found === undefined) {
      await next();
      return;
    }
    if (context.method === 'DELETE' && found.type === jwksType) return deleteKeys(context, issuer);
    requireRead(context);
    context.set('Content-Type', found.type);
    // Clients may cache the keys for an hour, so they may see a new key up to an hour late.
    context.set('Cache-Control', 'public, max-age=3600');
    context.body = Buffer.from(JSON.stringify(await found.read()));
  };
}

/**
 * Deletes the signing keys, for example after a leak. All tokens of service accounts become invalid, and the next token
 * is signed by a new key.
 */
async function deleteKeys(context: Context, issuer: AccountIssuer): Promise<void> {
  await issuer.keys.deleteAll();
  const status: Status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' };
  context.set('Content-Type', 'application/json');
  context.body = Buffer.from(JSON.stringify(status));
}
