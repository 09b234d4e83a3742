import type { FileHandle } from 'node:fs/promises';
import { inBounds } from '../../base/in-bounds.ts';
import type { TableContent } from '../../index/entry-table.ts';
import type { IndexOrders } from '../../index/restore-cache.ts';
import { Block } from '../../index/slabs.ts';
import { nextTurn } from '../../turns/next-turn.ts';
import { checkPiece, endBytes, footerPiece, UnusableSnapshot, unpackFooter } from './snapshot-form.ts';
import type { Piece, SnapshotFooter } from './snapshot-form.ts';

/** The content of a snapshot, in the buffers that the kind's cache then uses. */
export type SnapshotContent = TableContent & { readonly size: number; readonly orders: readonly IndexOrders[] };

/**
 * The maximum size in bytes of a group of blocks that is read at once. To compute the checksums of a group takes some
 * milliseconds.
 */
const readAtOnce = 16 * 1024 * 1024;

/**
 * The number of groups of blocks that are in progress at the same time: while one group is read from the file, the main
 * thread computes the checksums of another group.
 */
const lanes = 2;

/** Reads and checks the footer of a snapshot. @throws UnusableSnapshot */
export async function readFooter(file: FileHandle): Promise<SnapshotFooter> {
  const { size } = await file.stat();
  const end = Buffer.alloc(endBytes);
  if (size < endBytes) throw new UnusableSnapshot('the snapshot is too short');
  await fill(file, [end], size - endBytes);
  const piece = footerPiece(end);
  if (piece.bytes > size - endBytes) throw new UnusableSnapshot('the snapshot has the wrong length');
  const text = Buffer.alloc(piece.bytes);
  await fill(file, [text], size - endBytes - piece.bytes);
  checkPiece(text, piece);
  return unpackFooter(text, size);
}

/**
 * Called before the first step of a read, and after each step that reads objects, with the number of objects of the
 * step, and the number of bytes that are not read yet. These bytes become memory outside of the heap. If the
 * function throws, the read ends.
 */
export type OnRead = (objects: number, bytesLeft: number) => void;

/** Consecutive pieces of the file. */
interface Part {
  readonly position: number;
  readonly pieces: readonly Piece[];
  /**
   * Returns the memory for the pieces. Blocks are allocated in this call, just before the read, because the allocation
   * of a thousand blocks at once blocked the event loop for 0.3 s.
   */
  readonly targets: () => readonly Uint8Array[];
  readonly rows: number;
}

/**
 * Reads everything before the footer.
 * @throws UnusableSnapshot, and the error of `onRead`
 */
export async function readContent(file: FileHandle, footer: SnapshotFooter, onRead: OnRead): Promise<SnapshotContent> {
  const { secret, size } = footer;
  const made: Block[] = [];
  const parts: Part[] = [];
  let position = 0;
  const add = (pieces: readonly Piece[], targets: Part['targets'], rows: number): void => {
    parts.push({ position, pieces, targets, rows });
    position += bytesOf(pieces);
  };
  const addColumn = (piece: Piece): Int32Array<ArrayBuffer> => {
    const column = new Int32Array(piece.bytes / 4);
    add([piece], () => [new Uint8Array(column.buffer)], 0);
    return column;
  };
  for (const group of groupsOf(footer.blocks.map((piece, number) => ({ ...piece, number })))) {
    const rows = group.reduce((sum, each) => sum + each.rows, 0);
    add(group, () => group.map(({ bytes, number }) => (made[number] = new Block(bytes)).bytes), rows);
  }
  const [at, hashes] = [addColumn(footer.columns[0]), addColumn(footer.columns[1])];
  const orders = footer.orders.map((pieces) => pieces.map((piece) => (piece === null ? undefined : addColumn(piece))));
  await readParts(file, parts, onRead);
  const blocks = footer.blocks.map(({ rows }, number) => ({ rows, block: inBounds(made[number]) }));
  return { secret, size, at, hashes, blocks, orders };
}

/** Splits a list of pieces into groups of at most {@link readAtOnce} bytes. A larger piece is a group of its own. */
function groupsOf<Each extends Piece>(pieces: readonly Each[]): readonly (readonly Each[])[] {
  const groups: Each[][] = [];
  let bytes = readAtOnce;
  for (const piece of pieces) {
    if (bytes + piece.bytes > readAtOnce) {
      groups.push([]);
      bytes = 0;
    }
    groups.at(-1)?.push(piece);
    bytes += piece.bytes;
  }
  return groups;
}

async function readParts(file: FileHandle, parts: readonly Part[], onRead: OnRead): Promise<void> {
  let bytesLeft = parts.reduce((sum, { pieces }) => sum + bytesOf(pieces), 0);
  onRead(0, bytesLeft);
  const waiting = [...parts].reverse();
  const read = async (): Promise<void> => {
    for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
      const targets = part.targets();
      await fill(file, targets, part.position);
      await nextTurn('background');
      for (const [at, piece] of part.pieces.entries()) checkPiece(inBounds(targets[at]), piece);
      bytesLeft -= bytesOf(part.pieces);
      if (part.rows > 0) onRead(part.rows, bytesLeft);
    }
  };
  const readOrEnd = (): Promise<void> =>
    read().catch((error: unknown) => {
      waiting.length = 0;
      throw error;
    });
  const results = await Promise.allSettled(Array.from({ length: lanes }, readOrEnd));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

/** Fills the given memory from the file, which is read from `position` on. */
async function fill(file: FileHandle, targets: readonly Uint8Array[], position: number): Promise<void> {
  let at = position;
  let left = targets.filter(({ byteLength }) => byteLength > 0);
  while (left.length > 0) {
    const { bytesRead } = await file.readv(left, at);
    if (bytesRead === 0) throw new UnusableSnapshot('the snapshot has the wrong length');
    at += bytesRead;
    left = without(left, bytesRead);
  }
}

function without(targets: readonly Uint8Array[], bytes: number): Uint8Array[] {
  let gone = bytes;
  return targets.flatMap((target) => {
    const rest = target.subarray(Math.min(gone, target.byteLength));
    gone -= target.byteLength - rest.byteLength;
    return rest.byteLength === 0 ? [] : [rest];
  });
}

function bytesOf(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, { bytes }) => sum + bytes, 0);
}
