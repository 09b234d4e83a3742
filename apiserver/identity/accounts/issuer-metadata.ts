import { exportJWK } from 'jose';
import type { JWK } from 'jose';
import type { AccountIssuer } from './account-issuer.ts';

export const jwksPath = '/openid/v1/jwks';

export const discoveryPath = '/.well-known/openid-configuration';

/** Returns the document by which other programs find the keys of an issuer (OpenID Connect Discovery). */
export function discoveryDocument({ name }: AccountIssuer): object {
  return {
    issuer: name,
    jwks_uri: `${name.replace(/\/$/, '')}${jwksPath}`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
  };
}

/** Returns the public keys of an issuer. Creates the first key if there is none. */
export async function publicKeys({ keys }: AccountIssuer): Promise<{ readonly keys: readonly JWK[] }> {
  await keys.current();
  const published = keys.all().map(async ({ kid, publicKey }): Promise<JWK> => {
    const { kty = '', crv = '', x = '', y = '' } = await exportJWK(publicKey);
    return { kty, crv, x, y, use: 'sig', alg: 'ES256', kid };
  });
  return { keys: await Promise.all(published) };
}
