import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { valueList } from '../../index/entry.ts';
import type { Entry, EntryObject, IndexValue, IndexValues } from '../../index/entry.ts';
import type { KindIndex } from '../../index/kind-index.ts';
import { inBounds } from '../../base/in-bounds.ts';

/** The maximum number of entries of a part: packing them takes 5 ms, and reading them 1 ms. */
export const maxPartEntries = 2048;

/** A part ends at this many different texts or values, for objects with thousands of values. */
const maxPartWords = 128 * 1024;

/** The first word of a part. It differs for each form, and on a machine with the other order of bytes. */
const form = 0x6b657001;

/** Form, entries, words, bytes of text. */
const headerBytes = 16;
const digestBytes = 32;
const columnsAt = headerBytes + digestBytes;

/** The word of a text that is absent: the text with this number is no part of an entry. */
const absent = 0;

/** Kept bytes that are damaged, or of another form. */
export class UnreadablePart extends Error {
  override readonly name = 'UnreadablePart';
}

/**
 * Packs the data of entries that a start would otherwise get by parsing their objects: names, owners, and the values of
 * all indexes. Entries are in the order of the calls of {@link add}. Equal texts are stored once.
 *
 * The form: a header, a SHA-256 of the rest, the revisions, the position of each entry's words, the words, and the texts as a list
 * in JSON, of which the first is the fingerprint. An entry has a word for the CRC-32 of its bytes, its name, namespace and uid, the number of its owners and
 * two words for each, and for each index the number of values and their texts. All numbers have the machine's order of bytes.
 */
export class PartPacker {
  readonly #texts: string[];
  readonly #numbers = new Map<string, number>();
  readonly #revisions: number[] = [];
  readonly #starts: number[] = [];
  readonly #words: number[] = [];
  readonly #maxEntries: number;

  constructor(fingerprint: string, maxEntries: number = maxPartEntries) {
    this.#texts = [fingerprint];
    this.#maxEntries = maxEntries;
  }

  get size(): number {
    return this.#revisions.length;
  }

  get isFull(): boolean {
    return this.size >= this.#maxEntries || this.#words.length >= maxPartWords;
  }

  /** Revisions must ascend. */
  add({ revision, bytes, name, namespace, uid, owners = [], values }: Entry): void {
    this.#revisions.push(revision);
    this.#starts.push(this.#words.length);
    const words = this.#words;
    words.push(crc32(bytes), this.#numberOf(name), this.#numberOf(namespace), this.#numberOf(uid), owners.length);
    for (const owner of owners) words.push(this.#numberOf(owner.uid), owner.blocks ? 1 : 0);
    for (const value of values) {
      const list = valueList(value);
      words.push(list.length);
      for (const each of list) words.push(this.#numberOf(each));
    }
  }

  pack(): { readonly last: number; readonly data: Uint8Array } {
    const text = Buffer.from(JSON.stringify(this.#texts));
    const header = Uint32Array.of(form, this.size, this.#words.length, text.length);
    const columns = [Float64Array.from(this.#revisions), Uint32Array.from(this.#starts), Uint32Array.from(this.#words)];
    const rest = Buffer.concat([...columns.map(bytesOf), text]);
    const head = bytesOf(header);
    return { last: inBounds(this.#revisions.at(-1)), data: Buffer.concat([head, digestOf(head, rest), rest]) };
  }

  #numberOf(text: string | undefined): number {
    if (text === undefined) return absent;
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    const number = this.#texts.push(text) - 1;
    this.#numbers.set(text, number);
    return number;
  }
}

/** A part that was packed, and its entries by revision. */
export class KeptPart {
  readonly #revisions: Float64Array;
  readonly #starts: Uint32Array;
  readonly #words: Uint32Array;
  readonly #texts: string[];
  /** 1 for a text that {@link KindIndex.shared} has replaced: looking it up each time takes a microsecond for an object. */
  readonly #isShared: Uint8Array;
  /** The position of the entry that was found last. */
  #at = 0;

  /** @throws UnreadablePart */
  constructor(data: Uint8Array) {
    // A copy, because the bytes of a row may begin anywhere in a buffer.
    const bytes = new Uint8Array(data);
    if (bytes.length < columnsAt) throw new UnreadablePart('it is too short');
    const [found, size = 0, words = 0, textBytes = 0] = new Uint32Array(bytes.buffer, 0, headerBytes / 4);
    if (found !== form) throw new UnreadablePart('it has another form');
    if (bytes.length !== columnsAt + size * 12 + words * 4 + textBytes)
      throw new UnreadablePart('it has the wrong length');
    const digest = digestOf(bytes.subarray(0, headerBytes), bytes.subarray(columnsAt));
    if (digest.compare(bytes, headerBytes, columnsAt) !== 0) throw new UnreadablePart('its checksum is wrong');
    this.#revisions = new Float64Array(bytes.buffer, columnsAt, size);
    this.#starts = new Uint32Array(bytes.buffer, columnsAt + size * 8, size);
    this.#words = new Uint32Array(bytes.buffer, columnsAt + size * 12, words);
    this.#texts = textsOf(Buffer.from(bytes.buffer, bytes.length - textBytes));
    this.#isShared = new Uint8Array(this.#texts.length);
  }

  get size(): number {
    return this.#revisions.length;
  }

  get fingerprint(): string {
    return inBounds(this.#texts[0]);
  }

  /**
   * The position of the entry with a revision, which must not be below that of the call before; undefined when there is
   * none.
   */
  find(revision: number): number | undefined {
    while (inBounds(this.#revisions[this.#at]) < revision && this.#at < this.size - 1) this.#at += 1;
    return this.#revisions[this.#at] === revision ? this.#at : undefined;
  }

  /**
   * True when the bytes are those that the entry was made from. Otherwise the object was damaged, and the entry says
   * nothing about it.
   */
  hasBytes(at: number, bytes: Buffer): boolean {
    return this.#words[inBounds(this.#starts[at])] === crc32(bytes);
  }

  /** The fields that an entry is made of, beside its values. */
  objectAt(at: number): EntryObject {
    const start = inBounds(this.#starts[at]) + 1;
    const [name, namespace, uid] = [this.#textAt(start), this.#textAt(start + 1), this.#textAt(start + 2)];
    const owners = inBounds(this.#words[start + 3]);
    const ownerReferences = owners === 0 ? undefined : this.#ownersAt(start + 4, owners);
    // The same fields for all, so that V8 gives them one hidden class.
    return { metadata: { name: inBounds(name), namespace, uid, ownerReferences } };
  }

  /** The index values of an entry, in the form of {@link KindIndex.compute}. */
  valuesAt(at: number, indexes: readonly KindIndex[]): IndexValues {
    const start = inBounds(this.#starts[at]) + 1;
    let next = start + 4 + 2 * inBounds(this.#words[start + 3]);
    return indexes.map((index): IndexValue => {
      const from = next + 1;
      const count = inBounds(this.#words[next]);
      next = from + count;
      if (count === 0) return noValues;
      if (count === 1) return this.#sharedAt(from, index);
      return Array.from({ length: count }, (_, place) => this.#sharedAt(from + place, index));
    });
  }

  #ownersAt(from: number, count: number): EntryObject['metadata']['ownerReferences'] {
    return Array.from({ length: count }, (_, owner) => {
      const at = from + 2 * owner;
      return { uid: inBounds(this.#textAt(at)), blockOwnerDeletion: this.#words[at + 1] === 1 };
    });
  }

  #sharedAt(at: number, index: KindIndex): string {
    const number = inBounds(this.#words[at]);
    const text = inBounds(this.#texts[number]);
    if (this.#isShared[number] === 1) return text;
    this.#isShared[number] = 1;
    return (this.#texts[number] = index.shared(text));
  }

  #textAt(at: number): string | undefined {
    const number = inBounds(this.#words[at]);
    return number === absent ? undefined : inBounds(this.#texts[number]);
  }
}

function textsOf(json: Buffer): string[] {
  const texts: unknown = JSON.parse(json.toString());
  if (Array.isArray(texts) && texts.every((text) => typeof text === 'string')) return texts;
  throw new UnreadablePart('it has no texts');
}

const noValues: readonly string[] = Object.freeze([]);

function bytesOf(array: Float64Array | Uint32Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

function digestOf(head: Uint8Array, rest: Uint8Array): Buffer {
  return createHash('sha256').update(head).update(rest).digest();
}
