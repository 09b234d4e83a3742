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

// A certificate of version 3 (RFC 5280), signed with an EC key and SHA-256.

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
 * 128 random bits make a serial number unique; the highest bit is cleared (RFC 5280 4.1.2.2: at most 20 bytes,
 * positive).
 */
const serialBytes = 16;

/** The content of a certificate, with names and extensions in DER. */
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

/** Returns a name in DER that consists of a common name and of organizations. */
export function encodeName(commonName: string, organizations: readonly string[] = []): Buffer {
  const part = (id: string, text: string): Buffer =>
    encodeSet(encodeSequence(encodeObjectId(id), encodeUtf8String(text)));
  return encodeSequence(part(ids.commonName, commonName), ...organizations.map((text) => part(ids.organization, text)));
}

/**
 * Returns the subject of a certificate, with its own bytes of DER: certificates that it signs must have the same bytes
 * as issuer.
 */
export function subjectOf(certificate: Buffer): Buffer {
  const [signed = Buffer.alloc(0)] = derMembers(certificate);
  // A certificate of version 1 has no member for the version, so that member is skipped in all others.
  const members = derMembers(signed).filter((member) => member.at(0) !== 0xa0);
  // Serial number, algorithm, issuer and validity come before it.
  const [, , , , subject = Buffer.alloc(0)] = members;
  return subject;
}

/** The SHA-1 of the bits of a public key (RFC 5280 4.2.1.2, method 1). */
export function keyIdOf(publicKey: KeyObject): Buffer {
  const [, bits = Buffer.alloc(0)] = derMembers(publicKeyInfo(publicKey));
  return createHash('sha1').update(derContent(bits).subarray(1)).digest();
}

/** The extensions of an authority that signs no other authorities. */
export function authorityExtensions(publicKey: KeyObject): readonly Buffer[] {
  return [
    critical(ids.basicConstraints, encodeSequence(encodeTrue(), encodeInteger(Buffer.from([0])))),
    // keyCertSign and cRLSign.
    critical(ids.keyUsage, encodeBitString(Buffer.from([0x06]), 1)),
    subjectKeyId(publicKey),
  ];
}

export interface LeafUse {
  readonly use: 'clientAuth' | 'serverAuth';
  readonly publicKey: KeyObject;
  readonly authorityKey: KeyObject;
  /** Host names and addresses. If there are none, the certificate has no names. */
  readonly names: readonly string[];
}

/** The extensions of a certificate of a server or client. */
export function leafExtensions({ use, publicKey, authorityKey, names }: LeafUse): readonly Buffer[] {
  return [
    critical(ids.basicConstraints, encodeSequence()),
    // digitalSignature.
    critical(ids.keyUsage, encodeBitString(Buffer.from([0x80]), 7)),
    extension(ids.extendedKeyUsage, encodeSequence(encodeObjectId(ids[use]))),
    ...(names.length === 0 ? [] : [extension(ids.subjectAltName, encodeSequence(...names.map(generalName)))]),
    subjectKeyId(publicKey),
    extension(ids.authorityKeyId, encodeSequence(encodeImplicit(0, keyIdOf(authorityKey)))),
  ];
}

/** The eight groups of an IPv6 address, or the four bytes of IPv4. */
export function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  // The URL standard writes all addresses in groups of hexadecimal digits, with :: at most once.
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

/** A critical extension: clients that do not know it must refuse the certificate. */
function critical(id: string, value: Buffer): Buffer {
  return encodeSequence(encodeObjectId(id), encodeTrue(), encodeOctetString(value));
}

function generalName(name: string): Buffer {
  return isIPv4(name) || isIPv6(name)
    ? encodeImplicit(7, addressBytes(name))
    : encodeImplicit(2, Buffer.from(name, 'latin1'));
}
