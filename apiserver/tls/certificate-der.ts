import { createHash, randomBytes, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { isIPv4, isIPv6 } from 'node:net';
import {
  derContent,
  encodeBitString,
  encodeExplicit,
  encodeImplicit,
  encodeInteger,
  encodeObjectId,
  encodeOctetString,
  encodeSequence,
  encodeSet,
  encodeTime,
  encodeTrue,
  encodeUtf8String,
  derMembers,
} from './der.ts';

// This file encodes certificates of version 3 (RFC 5280), which are signed with an EC key and SHA-256.

const ids = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  subjectKeyId: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyId: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
} as const;

/**
 * The number of random bytes in a serial number, which make it unique. The highest bit is cleared, because the number
 * must be positive (RFC 5280 4.1.2.2, which allows 20 bytes).
 */
const serialBytes = 16;

/** The content of a certificate. Names and extensions are encoded in DER. */
export interface CertificateContent {
  readonly subject: Buffer;
  readonly issuer: Buffer;
  readonly publicKey: KeyObject;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  readonly extensions: readonly Buffer[];
}

/** Returns the certificate in DER. @throws Error for a key that is not EC */
export function signCertificate(content: CertificateContent, signingKey: KeyObject): Buffer {
  if (signingKey.asymmetricKeyType !== 'ec')
    throw new Error(`the key of the authority must be an EC key, and is ${signingKey.asymmetricKeyType ?? 'a secret'}`);
  const algorithm = encodeSequence(encodeObjectId(ids.ecdsaWithSha256));
  const serial = randomBytes(serialBytes);
  serial.writeUInt8(serial.readUInt8(0) & 0x7f, 0);
  const signed = encodeSequence(
    encodeExplicit(0, encodeInteger(Buffer.from([2]))),
    encodeInteger(serial),
    algorithm,
    content.issuer,
    encodeSequence(encodeTime(content.notBeforeMs), encodeTime(content.notAfterMs)),
    content.subject,
    publicKeyInfo(content.publicKey),
    encodeExplicit(3, encodeSequence(...content.extensions)),
  );
  return encodeSequence(signed, algorithm, encodeBitString(sign('sha256', signed, signingKey)));
}

/** Returns a name, encoded in DER, that consists of a common name and organizations. */
export function encodeName(commonName: string, organizations: readonly string[] = []): Buffer {
  const part = (id: string, text: string): Buffer =>
    encodeSet(encodeSequence(encodeObjectId(id), encodeUtf8String(text)));
  return encodeSequence(part(ids.commonName, commonName), ...organizations.map((text) => part(ids.organization, text)));
}

/**
 * Returns the unchanged DER bytes of the subject of an authority's certificate. In the certificates that this authority
 * signs, the field `issuer` must have the same bytes.
 */
export function subjectOf(certificate: Buffer): Buffer {
  const [signed = Buffer.alloc(0)] = derMembers(certificate);
  // A certificate of version 1 has no member for the version. In all other certificates, this member is skipped.
  const members = derMembers(signed).filter((member) => member.at(0) !== 0xa0);
  // The serial number, the algorithm, the issuer and the validity come before the subject.
  const [, , , , subject = Buffer.alloc(0)] = members;
  return subject;
}

/** Returns the SHA-1 of the bits of a public key (RFC 5280 4.2.1.2, method 1). */
export function keyIdOf(publicKey: KeyObject): Buffer {
  const [, bits = Buffer.alloc(0)] = derMembers(publicKeyInfo(publicKey));
  return createHash('sha1').update(derContent(bits).subarray(1)).digest();
}

/** Returns the extensions of an authority that must not sign other authorities. */
export function authorityExtensions(publicKey: KeyObject): readonly Buffer[] {
  return [
    critical(ids.basicConstraints, encodeSequence(encodeTrue(), encodeInteger(Buffer.from([0])))),
    // The bits keyCertSign and cRLSign.
    critical(ids.keyUsage, encodeBitString(Buffer.from([0x06]), 1)),
    subjectKeyId(publicKey),
  ];
}

export interface LeafUse {
  readonly use: 'clientAuth' | 'serverAuth';
  readonly publicKey: KeyObject;
  readonly authorityKey: KeyObject;
  /** The host names and addresses. If the list is empty, the certificate has no extension for names. */
  readonly names: readonly string[];
}

/** Returns the extensions of a server or client certificate. */
export function leafExtensions({ use, publicKey, authorityKey, names }: LeafUse): readonly Buffer[] {
  return [
    critical(ids.basicConstraints, encodeSequence()),
    // The bit digitalSignature.
    critical(ids.keyUsage, encodeBitString(Buffer.from([0x80]), 7)),
    extension(ids.extendedKeyUsage, encodeSequence(encodeObjectId(ids[use]))),
    ...(names.length === 0 ? [] : [extension(ids.subjectAltName, encodeSequence(...names.map(generalName)))]),
    subjectKeyId(publicKey),
    extension(ids.authorityKeyId, encodeSequence(encodeImplicit(0, keyIdOf(authorityKey)))),
  ];
}

/** Returns the bytes of an address: sixteen for IPv6, and four for IPv4. */
export function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  // `URL` rewrites every form of an IPv6 address to groups of hexadecimal digits, with :: at most once. So the code
  // below need not read the other forms.
  const { hostname } = new URL(`http://[${address}]`);
  const [before = '', after = ''] = hostname.slice(1, -1).split('::');
  const groups = (text: string): readonly string[] => (text === '' ? [] : text.split(':'));
  const [first, last] = [groups(before), groups(after)];
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => '0');
  return Buffer.from([...first, ...zeros, ...last].map((group) => group.padStart(4, '0')).join(''), 'hex');
}

function publicKeyInfo(publicKey: KeyObject): Buffer {
  return publicKey.export({ type: 'spki', format: 'der' });
}

function subjectKeyId(publicKey: KeyObject): Buffer {
  return extension(ids.subjectKeyId, encodeOctetString(keyIdOf(publicKey)));
}

function extension(id: string, value: Buffer): Buffer {
  return encodeSequence(encodeObjectId(id), encodeOctetString(value));
}

/** Returns a critical extension: a client that does not know it must refuse the certificate. */
function critical(id: string, value: Buffer): Buffer {
  return encodeSequence(encodeObjectId(id), encodeTrue(), encodeOctetString(value));
}

function generalName(name: string): Buffer {
  return isIPv4(name) || isIPv6(name)
    ? encodeImplicit(7, addressBytes(name))
    : encodeImplicit(2, Buffer.from(name, 'latin1'));
}
