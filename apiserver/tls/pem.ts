import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

/** A private key, and a chain of certificates that begins with the certificate of the key. */
export interface KeyAndChain {
  readonly key: KeyObject;
  /** The certificate of the key comes first. Any others are those of its issuers. */
  readonly chain: readonly [X509Certificate, ...X509Certificate[]];
}

export interface PemSources {
  readonly key: { readonly path: string; readonly text: string };
  readonly cert: { readonly path: string; readonly text: string };
}

/**
 * Parses a private key and its certificates. Throws Error, which names the file, when a file has no valid key or
 * certificate, or when the key does not belong to the first certificate.
 */
export function parseKeyAndChain({ key, cert }: PemSources): KeyAndChain {
  const chain = parseCertificates(cert);
  const parsed = parseKey(key);
  if (!chain[0].checkPrivateKey(parsed)) {
    throw new Error(`${key.path}: is not the key of the certificate in ${cert.path}`);
  }
  return { key: parsed, chain };
}

/**
 * Parses all certificates of a PEM file, in the order of the file. Throws Error when the file has no certificate, or a
 * damaged one.
 */
export function parseCertificates({ path, text }: PemSources['cert']): KeyAndChain['chain'] {
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  const certificates = blocks.map((block) => parse(path, 'certificate', () => new X509Certificate(block)));
  const [first, ...others] = certificates;
  if (first === undefined) throw new Error(`${path}: holds no certificate in PEM`);
  return [first, ...others];
}

/** Returns true for a self-signed certificate, which clients can trust without any other certificate. */
export function isSelfSigned(certificate: X509Certificate): boolean {
  return certificate.checkIssued(certificate) && certificate.verify(certificate.publicKey);
}

export function expiryOf(certificate: X509Certificate): number {
  return Date.parse(certificate.validTo);
}

function parseKey({ path, text }: PemSources['key']): KeyObject {
  return parse(path, 'private key without a passphrase', () => createPrivateKey(text));
}

function parse<T>(path: string, what: string, make: () => T): T {
  try {
    return make();
  } catch (cause) {
    throw new Error(`${path}: holds no ${what} in PEM that can be read`, { cause });
  }
}
