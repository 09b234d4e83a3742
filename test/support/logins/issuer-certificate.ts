import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startApiServer } from '@homeostat/apiserver';
import type { IssuerCertificate } from './token-issuer.ts';

/** Returns a certificate for a test's issuers. It is signed by the CA that a server creates in the folder. */
export async function issuerCertificate(folder: string): Promise<IssuerCertificate> {
  const directory = join(folder, 'tls');
  await (await startApiServer({ database: 'memory:', port: 0, tls: { directory } })).stop();
  const [pem, ca] = await Promise.all(
    ['server.pem', 'ca.crt'].map(async (name) => readFile(join(directory, name), 'utf8')),
  );
  return { pem: pem ?? '', ca: ca ?? '' };
}

/** Returns the text of a file for `--authentication-config` with entries of `jwt`, in YAML. */
export function authenticationConfiguration(...entries: readonly string[]): string {
  return `apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt:${entries.join('')}`;
}

/** Indents each line of a PEM text by 6 spaces, as a block of text in an entry of `jwt` needs. */
export function indented(text: string): string {
  return text.trim().replaceAll(/^/gm, '      ');
}
