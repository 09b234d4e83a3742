import type { Clock } from '@homeostat/controller-runtime/api';
import { AuthorityFolder } from './authority-folder.ts';
import { certificateNames } from './certificate-names.ts';
import { GivenCertificate } from './given-certificate.ts';
import type { CertificateSource, TlsOptions } from './tls-options.ts';

export interface CertificateSourceOptions {
  readonly tls: TlsOptions;
  /** What the server answers to, besides the loopback names. */
  readonly hostNames: readonly string[];
  readonly clock: Clock;
}

/** Opens nothing yet. Throws TypeError for a host name that is none. */
export function certificateSource({ tls, hostNames, clock }: CertificateSourceOptions): CertificateSource {
  if ('certFile' in tls) return new GivenCertificate(tls);
  return new AuthorityFolder({ directory: tls.directory, names: certificateNames(hostNames), clock });
}
