// oxlint-disable-next-line import/no-unassigned-import -- @peculiar/x509 wants the metadata of decorators in the global Reflect
import 'reflect-metadata';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  Name,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import type { Extension } from '@peculiar/x509';
import { createPublicKey, KeyObject, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import type { KeyAndChain } from './pem.ts';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/** Certificates are valid from an hour before, since clocks of clients may be behind. */
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

/** Makes a self-signed authority: EC P-256, for server certificates and no authorities below it. */
export async function issueAuthority({ nowMs, untilMs }: Validity): Promise<Issued> {
  const keys = await generateKeys();
  const keyId = await SubjectKeyIdentifierExtension.create(keys.publicKey);
  // Two authorities must have different names: clients find the signer by its name.
  const name = `CN=homeostat-ca-${keyId.keyId.slice(0, 12)}`;
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name,
    keys,
    notBefore: new Date(nowMs - backdateMs),
    notAfter: new Date(untilMs),
    signingAlgorithm: algorithm,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      keyId,
    ],
  });
  return { key: pemOf(keys.privateKey), cert: `${certificate.toString('pem')}\n` };
}

export interface ServerCertificateRequest extends Validity {
  /** Host names and addresses of the server. */
  readonly names: readonly string[];
}

export interface ClientRequest extends Validity {
  readonly user: string;
  readonly groups: readonly string[];
}

/** Makes a new key, and a certificate for it that the authority signs, with which a server identifies a user. */
export async function issueClient(authority: KeyAndChain, request: ClientRequest): Promise<Issued> {
  const { user, groups, ...validity } = request;
  // Names as texts would be parsed for quotes and escapes.
  const subject = new Name([
    { CN: [{ utf8String: user }] },
    ...groups.map((group) => ({ O: [{ utf8String: group }] })),
  ]);
  const usage = new ExtendedKeyUsageExtension([ExtendedKeyUsage.clientAuth]);
  return issueLeaf(authority, { ...validity, subject, extensions: [usage] });
}

/** Makes a new key, and a certificate for it that the authority signs. */
export async function issueServer(authority: KeyAndChain, request: ServerCertificateRequest): Promise<Issued> {
  const { names, ...validity } = request;
  const usage = new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]);
  const addresses = new SubjectAlternativeNameExtension(
    names.map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value })),
  );
  return issueLeaf(authority, { ...validity, subject: new Name('CN=homeostat'), extensions: [usage, addresses] });
}

interface LeafRequest extends Validity {
  readonly subject: Name;
  readonly extensions: readonly Extension[];
}

async function issueLeaf(authority: KeyAndChain, request: LeafRequest): Promise<Issued> {
  const { nowMs, untilMs, subject, extensions } = request;
  const keys = await generateKeys();
  const signer = await importKeys(authority.key);
  const certificate = await X509CertificateGenerator.create({
    subject,
    issuer: authority.chain[0].subject,
    publicKey: keys.publicKey,
    signingKey: signer.privateKey,
    signingAlgorithm: algorithm,
    notBefore: new Date(nowMs - backdateMs),
    notAfter: new Date(untilMs),
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      ...extensions,
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
      await AuthorityKeyIdentifierExtension.create(signer.publicKey),
    ],
  });
  return { key: pemOf(keys.privateKey), cert: `${certificate.toString('pem')}\n` };
}

async function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

async function importKeys(key: KeyObject): Promise<webcrypto.CryptoKeyPair> {
  const pkcs8 = key.export({ type: 'pkcs8', format: 'der' });
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' });
  const { subtle } = webcrypto;
  return {
    privateKey: await subtle.importKey('pkcs8', pkcs8, algorithm, false, ['sign']),
    publicKey: await subtle.importKey('spki', spki, algorithm, true, ['verify']),
  };
}

function pemOf(key: webcrypto.CryptoKey): string {
  return String(KeyObject.from(key).export({ type: 'pkcs8', format: 'pem' }));
}
