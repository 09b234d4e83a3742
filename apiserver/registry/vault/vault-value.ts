import { createHash } from 'node:crypto';
import { freezeDeep, isJsonObject } from '@homeostat/controller-runtime/api';
import { keyPrefixOf } from '../../store/object-key.ts';
import { vaultKind } from '../../vault/vault-kind.ts';

const maxNameLength = 200;
const namePattern = /^[a-z0-9./-]+$/;
const maxValueBytes = 64 * 1024;

/** A stored secret of the server. */
export interface VaultValue {
  readonly name: string;
  readonly value: unknown;
}

/** The reason why stored bytes cannot be read as a value. */
export interface UnreadableValue {
  readonly problem: string;
}

/** Checks the name of a secret. @throws TypeError, whose message does not contain the name */
export function checkVaultName(name: string): void {
  if (name.length <= maxNameLength && namePattern.test(name)) return;
  throw new TypeError(`the name of a secret must have 1 to ${maxNameLength} characters of a-z, 0-9, ".", "/" and "-"`);
}

/** Returns the key under which a value is stored. */
export function vaultKeyOf(name: string): string {
  return keyPrefixOf(vaultKind) + createHash('sha256').update(name).digest('hex').slice(0, 40);
}

/** Returns the bytes to store. @throws TypeError for undefined, and for a value that is too large */
export function encodeVaultValue(name: string, value: unknown): Uint8Array {
  const text = JSON.stringify({ name, value });
  if (value === undefined || Buffer.byteLength(text) > maxValueBytes + maxNameLength + 32)
    throw new TypeError(`a secret is a JSON value of at most ${maxValueBytes} bytes`);
  return Buffer.from(text);
}

/** Parses stored bytes. The returned value is frozen, because all readers share it. */
export function decodeVaultValue(key: string, data: Uint8Array): VaultValue | UnreadableValue {
  try {
    const stored: unknown = JSON.parse(Buffer.from(data).toString('utf8'));
    const { name, value } = isJsonObject(stored) ? stored : {};
    if (typeof name === 'string' && vaultKeyOf(name) === key) return { name, value: freezeDeep(value) };
  } catch {
    // The message of the error would quote the value, so the error is dropped.
  }
  return { problem: 'the stored value is damaged, or it was stored for a secret with another name' };
}
