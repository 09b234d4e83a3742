import { join } from 'node:path';
import { authorityFile } from './authority-folder.ts';
import { issueClient } from './issue-certificate.ts';
import type { ClientRequest, Issued } from './issue-certificate.ts';
import { expiryOf, parseKeyAndChain } from './pem.ts';
import { readPrivate } from './private-file.ts';

export interface ClientCertificateRequest extends ClientRequest {
  /** The folder of the server's own authority. */
  readonly directory: string;
}

/**
 * Issues a key and a certificate, both in PEM, with the authority in `directory`. A server that accepts this authority
 * identifies the user by the certificate. The certificate expires at the latest with the authority. Rejects with Error,
 * which names the authority's file, when this file is absent or cannot be used.
 */
export async function issueClientCertificate({ directory, ...request }: ClientCertificateRequest): Promise<Issued> {
  const path = join(directory, authorityFile);
  const text = await readPrivate(path);
  const authority = parseKeyAndChain({ key: { path, text }, cert: { path, text } });
  const untilMs = Math.min(request.untilMs, expiryOf(authority.chain[0]));
  return issueClient(authority, { ...request, untilMs });
}
