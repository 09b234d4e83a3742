import { join } from 'node:path';
import { publicFile } from './authority-folder.ts';
import { isSelfSigned, parseCertificates } from './pem.ts';
import { readPublic } from './private-file.ts';
import type { TlsOptions } from './tls-options.ts';

/**
 * Returns the certificate, in PEM, that clients of a server with these options must trust; undefined when the chain in
 * `certFile` does not end with a self-signed certificate. Creates no file, and reads no private key. Rejects with
 * Error, which names the file, when a file is absent or damaged.
 */
export async function readAuthority(tls: TlsOptions): Promise<string | undefined> {
  const path = 'certFile' in tls ? tls.certFile : join(tls.directory, publicFile);
  const chain = parseCertificates({ path, text: await readPublic(path) });
  const last = chain.at(-1) ?? chain[0];
  return isSelfSigned(last) ? last.toString() : undefined;
}
