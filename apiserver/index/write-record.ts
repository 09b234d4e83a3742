import { inBounds } from '../base/in-bounds.ts';
import type { IndexValue, OwnerLink } from './index-values.ts';
import type { Block, RecordPlace, Slabs } from './slabs.ts';
import { roundUp } from './slabs.ts';

/**
 * A record has everything that memory knows about an object beside its bytes, which come right before it. It is written once, in
 * words of four bytes, so that no number of objects adds to the heap of JavaScript:
 *
 * - the head: the distance to the bytes and their number, the revision in two words, the length of the record, references to key
 *   and uid, the length of the namespace + 1, the position of the owners, the number of values and a code;
 * - for each index, a reference to its value; 0 when it has none;
 * - lists of values and of owners, each with its number of items first;
 * - texts, in Latin-1 if they can be, otherwise in UTF-16.
 *
 * A reference is the position of a text (20 bits), its length (10 bits), and whether it is wide; with the highest bit set, it is the
 * position of two words for longer ones, or, with the second highest set as well, of a list.
 */
export const head: Readonly<
  Record<'back' | 'size' | 'low' | 'high' | 'length' | 'key' | 'uid' | 'namespace' | 'owners' | 'counts', number>
> = {
  back: 0,
  size: 1,
  low: 2,
  high: 3,
  length: 4,
  key: 5,
  uid: 6,
  namespace: 7,
  owners: 8,
  counts: 9,
};
export const headWords: number = 10;

export const startBits: number = 20;
export const maxStart: number = 1 << startBits;
export const maxShort: number = 1 << 10;
export const wideBit: number = 1 << 30;
export const longBit: number = 1 << 31;
export const listBit: number = 1 << 30;
export const positionMask: number = listBit - 1;

export const wordsOfOwner: number = 3;
export const twoTo32: number = 2 ** 32;

export interface RecordParts {
  readonly key: string;
  readonly name: string;
  readonly namespace: string | undefined;
  readonly uid: string | undefined;
  readonly revision: number;
  readonly bytes: Buffer;
  readonly values: readonly IndexValue[];
  readonly owners: readonly OwnerLink[];
  /** From 0 to 3. */
  readonly code: number;
}

/** Writes the record of an object behind its bytes. */
export function writeRecord(slabs: Pick<Slabs, 'placeBehind'>, parts: RecordParts): RecordPlace {
  const short = lengthOf(parts, false);
  const isLarge = short >= maxStart;
  const place = slabs.placeBehind(parts.bytes, roundUp(isLarge ? lengthOf(parts, true) : short));
  new Writer(place, parts, isLarge).write();
  return place;
}

/** Bytes of a record. */
function lengthOf(parts: RecordParts, isLarge: boolean): number {
  const { key, uid, values, owners } = parts;
  const shared = sharedName(parts, isLarge);
  let bytes = 4 * (headWords + values.length) + textLength(key, isLarge);
  if (uid !== undefined) bytes += textLength(uid, isLarge);
  for (const value of values) {
    if (typeof value === 'string') {
      if (value !== shared) bytes += textLength(value, isLarge);
    } else if (value.length > 0) bytes += 4 + value.reduce((sum, each) => sum + textLength(each, true), 0);
  }
  if (owners.length > 0) bytes += 4 + owners.reduce((sum, owner) => sum + 4 + textLength(owner.uid, true), 0);
  return bytes;
}

/** With `isLong`, including the two words of a long reference. */
function textLength(text: string, isLong: boolean): number {
  const bytes = isNarrow(text) ? text.length : text.length * 2;
  return isLong || text.length >= maxShort ? bytes + 8 : bytes;
}

function isNarrow(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) > 255) return false;
  return true;
}

class Writer {
  readonly #block: Block;
  readonly #place: RecordPlace;
  readonly #parts: RecordParts;
  readonly #isLarge: boolean;
  readonly #shared: string | undefined;
  /** The next free word of the lists, and the next free byte of the texts, which come after all words. */
  #word: number;
  #text: number;

  constructor(place: RecordPlace, parts: RecordParts, isLarge: boolean) {
    this.#block = place.block;
    this.#place = place;
    this.#parts = parts;
    this.#isLarge = isLarge;
    this.#shared = sharedName(parts, isLarge);
    this.#word = headWords + parts.values.length;
    this.#text = 4 * (this.#word + this.#listWords());
  }

  write(): void {
    const { key, name, namespace, uid, revision, bytes, values, owners, code } = this.#parts;
    const { at, bytesAt } = this.#place;
    const keyRef = this.#refOf(key);
    const nameRef = nameRefOf(keyRef, { key, name });
    this.#set(head.back, at - bytesAt);
    this.#set(head.size, bytes.length);
    this.#set(head.low, (revision % twoTo32) | 0);
    this.#set(head.high, Math.floor(revision / twoTo32));
    this.#set(head.key, keyRef);
    this.#set(head.uid, uid === undefined ? 0 : this.#refOf(uid));
    this.#set(head.namespace, namespace === undefined ? 0 : namespace.length + 1);
    this.#set(head.counts, values.length * 4 + code);
    for (let i = 0; i < values.length; i += 1) {
      const value = inBounds(values[i]);
      if (typeof value !== 'string') this.#set(headWords + i, this.#listOf(value));
      else this.#set(headWords + i, value === this.#shared ? nameRef : this.#refOf(value));
    }
    this.#set(head.owners, this.#ownersOf(owners));
    this.#set(head.length, roundUp(this.#text));
  }

  /** Words of lists and of long references. */
  #listWords(): number {
    const { key, uid, values, owners } = this.#parts;
    let words = this.#refWords(key) + (uid === undefined ? 0 : this.#refWords(uid));
    for (const value of values) {
      if (typeof value !== 'string') words += value.length === 0 ? 0 : 1 + 2 * value.length;
      else if (value !== this.#shared) words += this.#refWords(value);
    }
    return words + (owners.length === 0 ? 0 : 1 + wordsOfOwner * owners.length);
  }

  #refWords(text: string): number {
    return this.#isLarge || text.length >= maxShort ? 2 : 0;
  }

  #refOf(text: string): number {
    const start = this.#text;
    const isWide = this.#writeText(text);
    if (!this.#isLarge && text.length < maxShort) return start | (text.length << startBits) | (isWide ? wideBit : 0);
    const word = this.#word;
    this.#word += 2;
    this.#set(word, start);
    this.#set(word + 1, text.length * 2 + Number(isWide));
    return word | longBit;
  }

  #listOf(values: readonly string[]): number {
    if (values.length === 0) return 0;
    const word = this.#word;
    this.#word += 1 + 2 * values.length;
    this.#set(word, values.length);
    for (const [at, value] of values.entries()) this.#setItem(word + 1 + 2 * at, value);
    return word | longBit | listBit;
  }

  #ownersOf(owners: readonly OwnerLink[]): number {
    if (owners.length === 0) return 0;
    const word = this.#word;
    this.#word += 1 + wordsOfOwner * owners.length;
    this.#set(word, owners.length);
    for (const [at, { uid, blocks }] of owners.entries()) {
      const item = word + 1 + wordsOfOwner * at;
      this.#setItem(item, uid);
      this.#set(item + 2, Number(blocks));
    }
    return word;
  }

  #setItem(word: number, text: string): void {
    this.#set(word, this.#text);
    this.#set(word + 1, text.length * 2 + Number(this.#writeText(text)));
  }

  /** Returns true when the text is wide. */
  #writeText(text: string): boolean {
    const { bytes } = this.#block;
    const start = this.#place.at + this.#text;
    for (let at = 0; at < text.length; at += 1) {
      const unit = text.charCodeAt(at);
      if (unit > 255) {
        bytes.write(text, start, 'utf16le');
        this.#text += text.length * 2;
        return true;
      }
      bytes[start + at] = unit;
    }
    this.#text += text.length;
    return false;
  }

  #set(word: number, value: number): void {
    this.#block.words[this.#place.at / 4 + word] = value;
  }
}

/** The name, if a value that equals it can be a part of the key. */
function sharedName({ key, name }: RecordParts, isLarge: boolean): string | undefined {
  return isLarge || key.length >= maxShort ? undefined : name;
}

/** The name at the end of a key with a short reference. */
function nameRefOf(keyRef: number, { key, name }: Pick<RecordParts, 'key' | 'name'>): number {
  const unit = (keyRef & wideBit) === 0 ? 1 : 2;
  const start = (keyRef & (maxStart - 1)) + unit * (key.length - name.length);
  return start | (name.length << startBits) | (keyRef & wideBit);
}
