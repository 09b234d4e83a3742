import { isApiError } from '@homeostat/controller-runtime/api';
import { hasCode } from '../text/error-text.ts';
import { environmentName } from './serve-options.ts';

/** Node's error codes for a certificate that no known authority has signed. */
const unknownAuthority: ReadonlySet<unknown> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/**
 * Returns what the user can do when the server's certificate is not trusted, or when the server refuses the command's
 * credentials; undefined for all other errors.
 */
export function accessCure(error: unknown): string | undefined {
  if (isApiError(error) && error.reason === 'Unauthorized')
    return `give the server's token: --token, or better ${environmentName('token')}, or name its kubeconfig in HOMEOSTAT_KUBECONFIG`;
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = 'code' in cause ? cause.code : undefined;
    if (unknownAuthority.has(code))
      return "name the file of the server's authority: NODE_EXTRA_CA_CERTS=<tls-dir>/ca.crt, such as data/tls/ca.crt";
    if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
      return "use a name in the server's certificate, or start the server with --host-name <name>";
    if (code === 'CERT_HAS_EXPIRED') return "renew the server's certificate";
  }
  return undefined;
}

/**
 * Returns what the user can do about an error that {@link accessCure} knows, or about a server that cannot be reached.
 */
export function reachCure(error: unknown): string | undefined {
  const known = accessCure(error);
  if (known !== undefined) return known;
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (hasCode(cause, 'ECONNREFUSED')) return 'start the server with homeostat serve, or give its address: --server';
    if (hasCode(cause, 'ENOTFOUND', 'EAI_AGAIN')) return 'check the name of the host, in --server or in the kubeconfig';
  }
  return undefined;
}
