import type { Clock, Logger } from '@homeostat/controller-runtime/api';
import { CertificateRenewal } from './certificate-renewal.ts';
import { certificateSource } from './certificate-source.ts';
import type { ServerCertificate, TlsOptions } from './tls-options.ts';

/** The certificate of a server with TLS, and the renewal of the certificate. */
export interface SecureParts {
  readonly certificate: ServerCertificate;
  readonly renewal: CertificateRenewal;
}

export interface OpenTlsParts {
  /** The source of the certificate; undefined for plain HTTP. */
  readonly tls: TlsOptions | undefined;
  readonly clientCa?: string | undefined;
  readonly host: string;
  readonly hostNames: readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Loads the server certificate, or issues one. Resolves with the certificate and its renewal, which the caller starts,
 * and which calls `onRenewed` with each new certificate; undefined for plain HTTP.
 */
export async function openTls(
  { tls, clientCa, host, hostNames, clock, logger }: OpenTlsParts,
  onRenewed: (certificate: ServerCertificate) => void,
): Promise<SecureParts | undefined> {
  if (tls === undefined) return undefined;
  const source = certificateSource({ tls, hostNames: [host, ...hostNames], clock, clientCa });
  const certificate = await source.load();
  return { certificate, renewal: new CertificateRenewal({ source, clock, logger, onRenewed }) };
}
