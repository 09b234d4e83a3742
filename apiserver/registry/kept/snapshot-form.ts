import { crc32 } from 'node:zlib';
import type { HashSecret } from '../../base/key-hash.ts';

/** The first word of the end of a file. It differs for each form, and on a machine with the other order of bytes. */
const form = 0x736e6102;

/** The length of the end of a file: the form, and the length and the checksum of the footer before it. */
export const endBytes = 12;

/** An error for a snapshot that cannot be used; the message is the reason. */
export class UnusableSnapshot extends Error {
  override readonly name = 'UnusableSnapshot';
}

/** A piece of a file. */
export interface Piece {
  readonly bytes: number;
  /** The CRC-32 of the bytes. */
  readonly check: number;
}

/** The data about a kind besides its objects. */
export interface SnapshotFacts {
  /** The kept records of the kind in the database. */
  readonly kept: { readonly last: number; readonly size: number } | undefined;
  /** The generation of the unique indexes in the database. */
  readonly generation: number;
}

/** The end of a snapshot, which describes the content before it. */
export interface SnapshotFooter {
  /** The nonce of the mark in the database. */
  readonly nonce: string;
  readonly fingerprint: string;
  /** The secret of the hashes of the names. */
  readonly secret: HashSecret;
  /** Bytes of all records with their objects. */
  readonly size: number;
  /** Blocks of records, which come first, each with the number of its rows. */
  readonly blocks: readonly (Piece & { readonly rows: number })[];
  /** Columns of the rows: the position in the block, and the hash of the name. */
  readonly columns: readonly [Piece, Piece];
  /** The rows in the order of each part of each index; null for a part without an order. */
  readonly orders: readonly (readonly (Piece | null)[])[];
  readonly facts: SnapshotFacts;
}

export function pieceOf(bytes: Uint8Array): Piece {
  return { bytes: bytes.byteLength, check: crc32(bytes) };
}

/** @throws UnusableSnapshot */
export function checkPiece(bytes: Uint8Array, { check }: Piece): void {
  if (crc32(bytes) !== check) throw new UnusableSnapshot('a checksum is wrong');
}

export function packFooter(footer: SnapshotFooter): Buffer {
  const text = Buffer.from(JSON.stringify(footer));
  const end = Uint32Array.of(form, text.length, crc32(text));
  return Buffer.concat([text, Buffer.from(end.buffer)]);
}

/** The bytes of the footer before the end of a file. @throws UnusableSnapshot */
export function footerPiece(end: Uint8Array): Piece {
  const [found, bytes = 0, check = 0] = new Uint32Array(end.slice().buffer);
  if (found !== form) throw new UnusableSnapshot('it is not complete, or has another form');
  return { bytes, check };
}

/** `fileBytes` is the length of the whole file. @throws UnusableSnapshot */
export function unpackFooter(text: Buffer, fileBytes: number): SnapshotFooter {
  const footer: unknown = JSON.parse(text.toString());
  if (!isFooter(footer)) throw new UnusableSnapshot('it has another form');
  const pieces = [...footer.blocks, ...footer.columns, ...footer.orders.flat()];
  const bytes = pieces.reduce((sum, piece) => sum + (piece?.bytes ?? 0), text.length + endBytes);
  if (bytes !== fileBytes) throw new UnusableSnapshot('it has the wrong length');
  return footer;
}

/** True for a footer. The checksum is right, so {@link packFooter} has written the value in this form. */
function isFooter(value: unknown): value is SnapshotFooter {
  return typeof value === 'object' && value !== null && 'blocks' in value && 'facts' in value;
}
