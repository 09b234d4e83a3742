import { completeRecord, createEntry } from '../../index/create-entry.ts';
import type { EntryObject } from '../../index/create-entry.ts';
import type { IndexValues } from '../../index/entry.ts';
import { Block } from '../../index/slabs.ts';
import type { RecordPlace, Slabs } from '../../index/slabs.ts';
import type { StoredEntry } from '../../index/stored-entry.ts';
import type { Change } from '../../store/store.ts';
import { withRevision } from '../object/object-codec.ts';

/**
 * The length in bytes of the fingerprint of a process's indexes and program. A process that sends the record of an
 * object to other processes puts its fingerprint before the record.
 */
const markBytes = 32;

/** The size in bytes of the blocks of memory in which {@link EntryNotes} writes notes, many in each block. */
const blockBytes = 64 * 1024;

const noBytes = Buffer.alloc(0);

/**
 * Writes and reads notes: the process that writes an object sends the object's record to the other processes. They copy
 * the record, and need not parse the object or compute the values of its indexes. A note begins with the fingerprint of
 * the sender's indexes and program. A process with another fingerprint ignores the note, for example while a plugin is
 * reloaded.
 */
export class EntryNotes {
  readonly #mark: Buffer;
  #block = new Block(blockBytes);
  #filled = 0;

  /** `fingerprint` is the result of `keptFingerprint`. */
  constructor(fingerprint: string) {
    this.#mark = Buffer.from(fingerprint, 'base64');
  }

  /** Returns a note: the fingerprint of this process's indexes and program, followed by the record of an object. */
  write(object: EntryObject, values: IndexValues): Buffer {
    const { block, at, footprint } = createEntry(object, { revision: 0, bytes: noBytes, values, slabs: this });
    this.#mark.copy(block.bytes, at - markBytes);
    return block.bytes.subarray(at - markBytes, at + footprint);
  }

  /**
   * Returns the entry of a change, with the record that the writer of the object sent in the change's note. Returns
   * undefined when there is no note that this process can use, so that the object has to be parsed. @throws
   * BrokenObjectError
   */
  read({ data, revision, problem, note }: Change, slabs: Slabs): StoredEntry | undefined {
    if (note === undefined || problem !== undefined || this.#mark.compare(note, 0, markBytes) !== 0) return undefined;
    return this.entryOf(note, { revision, bytes: withRevision(data, revision, slabs.allocate), slabs });
  }

  /**
   * Returns an entry with the record that `note` contains. {@link write} returned the note in this or another process.
   * The caller has checked that the note begins with the fingerprint of this process.
   */
  entryOf(
    note: Uint8Array,
    { slabs, ...state }: { readonly revision: number; readonly bytes: Buffer; readonly slabs: Slabs },
  ): StoredEntry {
    return completeRecord(slabs, { ...state, record: note.subarray(markBytes) });
  }

  /** Returns memory for a record alone, without the bytes of its object; see {@link Slabs}. */
  placeBehind(_bytes: Buffer, length: number): RecordPlace {
    const size = markBytes + length;
    if (this.#filled + size > this.#block.size) {
      this.#block = new Block(Math.max(blockBytes, size));
      this.#filled = 0;
    }
    const at = this.#filled + markBytes;
    this.#filled += size;
    return { block: this.#block, at, bytesAt: at };
  }
}
