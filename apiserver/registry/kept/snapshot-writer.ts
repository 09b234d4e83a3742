import { mkdir, open, rm } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { KindCache } from '../../index/kind-cache.ts';
import { RecordPacker } from '../../index/pack-records.ts';
import { packFooter, pieceOf } from './snapshot-form.ts';
import type { Piece, SnapshotFacts, SnapshotFooter } from './snapshot-form.ts';

export interface SnapshotSource {
  /** The objects and indexes of the kind. They must not change while the file is written. */
  readonly cache: KindCache;
  readonly nonce: string;
  readonly fingerprint: string;
  readonly facts: SnapshotFacts;
  /** Called before each write. An error of `check` ends the work. */
  readonly check: () => void;
}

/**
 * Writes the objects and indexes of a kind into a new file that only its owner can read, in many turns of the event
 * loop. Deletes the former file first, so that the disk needs no space for two files. Leaves no file after a failure.
 * The file is not synced to the disk: the next start detects an incomplete file by its checksums.
 */
export async function writeSnapshot(path: string, source: SnapshotSource): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await rm(path, { force: true });
  const file = await open(path, 'wx', 0o600);
  try {
    await new SnapshotWriter(file, source).write();
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

class SnapshotWriter {
  readonly #file: FileHandle;
  readonly #source: SnapshotSource;

  constructor(file: FileHandle, source: SnapshotSource) {
    this.#file = file;
    this.#source = source;
  }

  async write(): Promise<void> {
    const { cache, nonce, fingerprint, facts } = this.#source;
    const { table } = cache;
    const packer = new RecordPacker(table);
    const blocks = await this.#writeBlocks(packer);
    const columns = [await this.#append(bytesOf(packer.at)), await this.#append(bytesOf(packer.hashes))] as const;
    const orders = await this.#writeOrders(packer);
    const { size } = packer;
    await this.#append(packFooter({ nonce, fingerprint, secret: table.secret, size, blocks, columns, orders, facts }));
  }

  async #writeBlocks(packer: RecordPacker): Promise<SnapshotFooter['blocks']> {
    const blocks: SnapshotFooter['blocks'][number][] = [];
    let writing: Promise<void> | undefined;
    // A block is packed while the previous one is written.
    for (let block = packer.next(); block !== undefined; block = packer.next()) {
      const { rows, bytes } = block;
      blocks.push({ ...pieceOf(bytes), rows });
      await writing;
      writing = this.#write(bytes);
    }
    await writing;
    return blocks;
  }

  async #writeOrders(packer: RecordPacker): Promise<SnapshotFooter['orders']> {
    const written: (Piece | null)[][] = [];
    for (const index of this.#source.cache.indexes) {
      const pieces: (Piece | null)[] = [];
      for (const rows of index.orders())
        pieces.push(rows === undefined ? null : await this.#append(bytesOf(packer.renumber(rows))));
      written.push(pieces);
    }
    return written;
  }

  async #append(bytes: Uint8Array): Promise<Piece> {
    await this.#write(bytes);
    return pieceOf(bytes);
  }

  async #write(bytes: Uint8Array): Promise<void> {
    this.#source.check();
    for (let from = 0; from < bytes.byteLength;)
      from += (await this.#file.write(bytes, from, bytes.byteLength - from)).bytesWritten;
  }
}

function bytesOf(rows: Int32Array): Uint8Array {
  return new Uint8Array(rows.buffer, rows.byteOffset, rows.byteLength);
}
