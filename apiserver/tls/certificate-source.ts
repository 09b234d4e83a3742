import type { Clock } from '@homeostat/controller-runtime/api';
import { AuthorityFolder } from './authority-folder.ts';
import { certificateNames } from './certificate-names.ts';
import { GivenCertificate } from './given-certificate.ts';
import { parseCertificates } from './pem.ts';
import { readPublic } from './private-file.ts';
import type { CertificateSource, TlsOptions } from './tls-options.ts';

export interface CertificateSourceParts {
  readonly tls: TlsOptions;
  /** The names and addresses of the server, in addition to the loopback names. */
  readonly hostNames: readonly string[];
  readonly clock: Clock;
  /**
   * The path of a PEM file with the authorities of client certificates. Default: the server's own authority, if it has
   * one.
   */
  readonly clientCa?: string | undefined;
}

/**
 * Returns the source of the certificate, which reads no file yet. Throws TypeError for a malformed host name, unless
 * the certificate is given as a file: then the names are not used.
 */
export function certificateSource({ clientCa, ...parts }: CertificateSourceParts): CertificateSource {
  const source = serverSource(parts);
  return {
    load: async () => {
      const certificate = await source.load();
      const own = 'directory' in parts.tls ? certificate.ca : undefined;
      return { ...certificate, clientAuthorities: clientCa === undefined ? own : await readAuthorities(clientCa) };
    },
  };
}

/**
 * Reads the authorities in a PEM file. Rejects with Error, which names the file, when one of its certificates is not an
 * authority.
 */
async function readAuthorities(path: string): Promise<string> {
  const certificates = parseCertificates({ path, text: await readPublic(path) });
  const wrong = certificates.findIndex(({ ca }) => !ca);
  if (wrong >= 0) throw new Error(`${path}: certificate ${wrong + 1} is not a CA certificate`);
  return certificates.map(String).join('');
}

function serverSource({ tls, hostNames, clock }: Omit<CertificateSourceParts, 'clientCa'>): CertificateSource {
  if ('certFile' in tls) return new GivenCertificate(tls);
  return new AuthorityFolder({ directory: tls.directory, names: certificateNames(hostNames), clock });
}
