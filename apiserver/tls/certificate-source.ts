import type { Clock } from '@homeostat/controller-runtime/api';
import { AuthorityFolder } from './authority-folder.ts';
import { certificateNames } from './certificate-names.ts';
import { GivenCertificate } from './given-certificate.ts';
import type { CertificateSource, TlsOptions } from './tls-options.ts';

export interface CertificateSourceOptions {
  readonly tls: TlsOptions;
  /** The server's names and addresses, besides the loopback names. */
  readonly hostNames: readonly string[];
  readonly clock: Clock;
}

/** Makes the source of the certificate; reads no file yet. Throws TypeError for a malformed host name. */
export function certificateSource({ tls, hostNames, clock }: CertificateSourceOptions): CertificateSource {
  if ('certFile' in tls) return new GivenCertificate(tls);
  return new AuthorityFolder({ directory: tls.directory, names: certificateNames(hostNames), clock });
}
