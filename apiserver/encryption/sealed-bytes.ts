import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

/** A key of AES-256-GCM. */
export interface EncryptionKey {
  /** The name of the key. Bytes that the key has encrypted begin with a marker and this name. */
  readonly name: string;
  readonly secret: KeyObject;
}

/** The length of a key, in bytes. */
export const keyBytes = 32;

/** Matches the names that keys may have. */
export const keyNamePattern: RegExp = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

/**
 * All encrypted bytes begin with `anyMarker`, and those of this algorithm begin with `marker`, as in Kubernetes. No
 * JSON text begins with `anyMarker`.
 */
const anyMarker = Buffer.from('k8s:enc:');
const marker = Buffer.from('k8s:enc:aesgcm:v1:');

/** The maximum length of the marker, the name of the key, and the colon after it. */
const maxHeaderBytes = marker.length + 64;

/** True when bytes are encrypted, by any algorithm. */
export function isSealed(data: Uint8Array): boolean {
  return data[0] === anyMarker[0] && anyMarker.compare(data, 0, anyMarker.length) === 0;
}

/** Returns the name of the key that encrypted the bytes; undefined when they are not in the form of {@link seal}. */
export function sealingKeyOf(data: Uint8Array): string | undefined {
  if (data.length < marker.length || marker.compare(data, 0, marker.length) !== 0) return undefined;
  const header = Buffer.from(data.buffer, data.byteOffset, Math.min(data.length, maxHeaderBytes)).toString('latin1');
  const name = header.slice(marker.length, Math.max(header.indexOf(':', marker.length), marker.length));
  return keyNamePattern.test(name) ? name : undefined;
}

/**
 * Encrypts bytes with a new nonce. `place`, such as the key of the object, is authenticated as well, so that the bytes
 * cannot be decrypted for another place.
 */
export function seal({ name, secret }: EncryptionKey, place: string, plain: Uint8Array): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, secret, nonce, { authTagLength: tagBytes });
  cipher.setAAD(Buffer.from(place));
  const sealed = [marker, Buffer.from(`${name}:`), nonce, cipher.update(plain), cipher.final()];
  return Buffer.concat([...sealed, cipher.getAuthTag()]);
}

/**
 * Decrypts the result of {@link seal}. Returns undefined when the bytes were changed, or when {@link seal} got another
 * key or another text as `place`.
 */
export function unseal({ name, secret }: EncryptionKey, place: string, sealed: Uint8Array): Buffer | undefined {
  const start = marker.length + name.length + 1;
  const end = sealed.length - tagBytes;
  if (end < start + nonceBytes) return undefined;
  const decipher = createDecipheriv(algorithm, secret, sealed.subarray(start, start + nonceBytes), {
    authTagLength: tagBytes,
  });
  decipher.setAAD(Buffer.from(place));
  decipher.setAuthTag(sealed.subarray(end));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(start + nonceBytes, end)), decipher.final()]);
  } catch {
    // The error of the library is dropped, because it says only that the authentication tag differs.
    return undefined;
  }
}
