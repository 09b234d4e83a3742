import { crc32 } from 'node:zlib';
import type { HashSecret } from '../../base/key-hash.ts';

/**
 * The number of the format of snapshots. It begins the last 12 bytes of a file, which are three 32-bit numbers. A
 * machine with another byte order reads another number, and therefore refuses the file.
 */
const form = 0x736e6102;

/**
 * The length in bytes of the last three numbers of a file: the format, and the length and checksum of the footer, which
 * comes before these numbers.
 */
export const endBytes = 12;

/** An error for a snapshot that cannot be used; the message is the reason. */
export class UnusableSnapshot extends Error {
  override readonly name = 'UnusableSnapshot';
}

/** The length and the checksum of a part of a snapshot file, such as a block of objects. */
export interface Piece {
  readonly bytes: number;
  /** The CRC-32 of the bytes of this part of the file. */
  readonly check: number;
}

/** The facts about the state of a kind in the database. A snapshot contains them in addition to the kind's objects. */
export interface SnapshotFacts {
  /** The kept records of the kind in the database: the last revision, and the number of records. */
  readonly kept: { readonly last: number; readonly size: number } | undefined;
  /** The generation of the kind's unique indexes when the snapshot was written. */
  readonly generation: number;
}

/** The end of a snapshot, which describes the content before it. */
export interface SnapshotFooter {
  /** A random text. The snapshot is valid only if the database has an entry (the mark) with the same nonce for it. */
  readonly nonce: string;
  readonly fingerprint: string;
  /** The secret with which the keys of objects are hashed. */
  readonly secret: HashSecret;
  /** The number of bytes of all objects and their records. */
  readonly size: number;
  /** The blocks of objects and records, which come first in the file, each with the number of its rows. */
  readonly blocks: readonly (Piece & { readonly rows: number })[];
  /** Two columns with a number for each row: the position of its record in the block, and the hash of its key. */
  readonly columns: readonly [Piece, Piece];
  /**
   * For each index, a list with one entry for each of its parts. The parts are the sorted lists of which an index
   * consists: for example, one part has the objects without a value. An entry describes the piece of the file that has
   * the row numbers of the part, in the order of the part. The entry is null when the part is not built, or when the
   * part stores the value of each item.
   */
  readonly orders: readonly (readonly (Piece | null)[])[];
  readonly facts: SnapshotFacts;
}

export function pieceOf(bytes: Uint8Array): Piece {
  return { bytes: bytes.byteLength, check: crc32(bytes) };
}

/** Checks the checksum of a piece. @throws UnusableSnapshot */
export function checkPiece(bytes: Uint8Array, { check }: Piece): void {
  if (crc32(bytes) !== check) throw new UnusableSnapshot('a checksum of the snapshot is wrong');
}

export function packFooter(footer: SnapshotFooter): Buffer {
  const text = Buffer.from(JSON.stringify(footer));
  const end = Uint32Array.of(form, text.length, crc32(text));
  return Buffer.concat([text, Buffer.from(end.buffer)]);
}

/**
 * Returns the length and the checksum of the footer, which it reads from the last bytes of the file. @throws
 * UnusableSnapshot
 */
export function footerPiece(end: Uint8Array): Piece {
  const [found, bytes = 0, check = 0] = new Uint32Array(end.slice().buffer);
  if (found !== form) throw new UnusableSnapshot('the snapshot is not complete, or has another format');
  return { bytes, check };
}

/** Parses a footer. `fileBytes` is the length of the whole file. @throws UnusableSnapshot */
export function unpackFooter(text: Buffer, fileBytes: number): SnapshotFooter {
  const footer: unknown = JSON.parse(text.toString());
  if (!isFooter(footer)) throw new UnusableSnapshot('the snapshot has another format');
  const pieces = [...footer.blocks, ...footer.columns, ...footer.orders.flat()];
  const bytes = pieces.reduce((sum, piece) => sum + (piece?.bytes ?? 0), text.length + endBytes);
  if (bytes !== fileBytes) throw new UnusableSnapshot('the snapshot has the wrong length');
  return footer;
}

/**
 * Returns true for a footer. A check of two fields is enough: the checksum of the footer is already known to be right,
 * so {@link packFooter} has written the value.
 */
function isFooter(value: unknown): value is SnapshotFooter {
  return typeof value === 'object' && value !== null && 'blocks' in value && 'facts' in value;
}
