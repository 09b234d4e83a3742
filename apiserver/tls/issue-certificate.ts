import { createPublicKey, generateKeyPair, X509Certificate } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import {
  authorityExtensions,
  encodeName,
  keyIdOf,
  leafExtensions,
  signCertificate,
  subjectOf,
} from './certificate-der.ts';
import type { CertificateContent } from './certificate-der.ts';
import type { KeyAndChain } from './pem.ts';

/** Certificates are valid from an hour before they are issued, because the clocks of clients may be behind. */
const backdateMs = 3_600_000;

/** A key and a certificate, both in PEM. */
export interface Issued {
  readonly key: string;
  readonly cert: string;
}

export interface Validity {
  readonly nowMs: number;
  readonly untilMs: number;
}

/** Creates a self-signed authority with an EC key (P-256). It can sign certificates, but no other authorities. */
export async function issueAuthority({ nowMs, untilMs }: Validity): Promise<Issued> {
  const { publicKey, privateKey } = await generateKeys();
  // Two authorities must have different names, because clients find the signer of a certificate by its name.
  const name = encodeName(`homeostat-ca-${keyIdOf(publicKey).toString('hex').slice(0, 12)}`);
  const extensions = authorityExtensions(publicKey);
  const content = { subject: name, issuer: name, publicKey, extensions, ...periodOf({ nowMs, untilMs }) };
  return { key: pemOf(privateKey), cert: signedPem(content, privateKey) };
}

export interface ServerCertificateRequest extends Validity {
  /** The host names and addresses of the server. */
  readonly names: readonly string[];
}

export interface ClientRequest extends Validity {
  readonly user: string;
  readonly groups: readonly string[];
}

/**
 * Creates a key and a client certificate, which the authority signs. A server identifies the user by this certificate.
 */
export async function issueClient(authority: KeyAndChain, request: ClientRequest): Promise<Issued> {
  const { user, groups, ...validity } = request;
  return issueLeaf(authority, { ...validity, subject: encodeName(user, groups), use: 'clientAuth', names: [] });
}

/** Creates a key and a server certificate, which the authority signs. */
export async function issueServer(authority: KeyAndChain, request: ServerCertificateRequest): Promise<Issued> {
  return issueLeaf(authority, { ...request, subject: encodeName('homeostat'), use: 'serverAuth' });
}

interface LeafRequest extends Validity {
  readonly subject: Buffer;
  readonly use: 'clientAuth' | 'serverAuth';
  readonly names: readonly string[];
}

async function issueLeaf(authority: KeyAndChain, request: LeafRequest): Promise<Issued> {
  const { subject, use, names } = request;
  const { publicKey, privateKey } = await generateKeys();
  const authorityKey = createPublicKey(authority.key);
  const content = {
    subject,
    issuer: subjectOf(authority.chain[0].raw),
    publicKey,
    extensions: leafExtensions({ use, publicKey, authorityKey, names }),
    ...periodOf(request),
  };
  return { key: pemOf(privateKey), cert: signedPem(content, authority.key) };
}

const generateKeyPairAsync = promisify(generateKeyPair);

async function generateKeys(): Promise<{ readonly publicKey: KeyObject; readonly privateKey: KeyObject }> {
  return generateKeyPairAsync('ec', { namedCurve: 'P-256' });
}

function periodOf({ nowMs, untilMs }: Validity): Pick<CertificateContent, 'notBeforeMs' | 'notAfterMs'> {
  return { notBeforeMs: nowMs - backdateMs, notAfterMs: untilMs };
}

function signedPem(content: CertificateContent, key: KeyObject): string {
  return new X509Certificate(signCertificate(content, key)).toString();
}

function pemOf(key: KeyObject): string {
  return String(key.export({ type: 'pkcs8', format: 'pem' }));
}
