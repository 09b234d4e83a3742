import { compareCodePoints } from '@homeostat/controller-runtime/api';
import { inBounds } from '../base/in-bounds.ts';
import { compareUnits } from './lists/compare-strings.ts';
import { keyLength } from './lists/sorted-texts.ts';
import type { IndexValue, KnownOwner, Entry } from './entry.ts';
import type { PropagationPolicy } from './propagation.ts';
import type { Block } from './slabs.ts';

/**
 * The positions of the words in the head of a record. A record has all data that memory has about an object, except the
 * object's bytes, which are right before the record. It is written once, in words of four bytes, so that objects take
 * no space in the heap of JavaScript. Its parts are:
 *
 * - the head: the distance to the object's bytes, the number of these bytes, the revision in two words, the length of
 *   the record, references to key and uid, the length of the namespace + 1, the position of the owners, and a word with
 *   the number of values and the code of the deletion policy;
 * - for each index, a reference to the object's value; 0 when the object has none;
 * - texts, in Latin-1 if possible, otherwise in UTF-16, and lists of values and of owners, each of which begins with
 *   its number of items.
 *
 * A reference has the position of a text (20 bits), its length (10 bits), and one bit that says whether it is wide,
 * which means in UTF-16. If the highest bit is set and the second-highest is not, the reference has the position of two
 * words that describe a text whose length or position needs more bits. If both bits are set, it has the position of a
 * list.
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
const positionMask: number = listBit - 1;

export const wordsOfOwner: number = 3;
export const twoTo32: number = 2 ** 32;

/** The deletion policies, by their codes in records. */
export const deletions: readonly (PropagationPolicy | undefined)[] = [undefined, 'Background', 'Foreground', 'Orphan'];

const noValues: readonly string[] = Object.freeze([]);

// These variables describe the text that was located last. They are not an object, because an object for each text
// would cause garbage.
let inBytes: Buffer = Buffer.alloc(0);
let from = 0;
let units = 0;
let isWideText = false;

interface ReadList {
  readonly block: Block | undefined;
  readonly at: number;
  readonly position: number;
  readonly values: readonly string[];
}

/**
 * The values in an index, such as the labels of an object, that {@link StoredEntry.valueAt} read last. They are cached,
 * because a selector reads the labels of an object once for each requirement of the selector. Without this cache, a
 * selector with 100 requirements took 500 ms of one turn of the event loop for an object with 10,000 labels.
 */
let lastList: ReadList = { block: undefined, at: 0, position: 0, values: noValues };

/**
 * An object in memory. An instance has only the position of the object's record, since there may be a million
 * instances. The methods that compare names or values read the bytes of the record. They create strings only for texts
 * with 2 bytes a character.
 */
export class StoredEntry implements Entry {
  declare block: Block;
  declare at: number;

  constructor(block: Block, at: number) {
    this.block = block;
    this.at = at;
  }

  moveTo(block: Block, at: number): this {
    this.block = block;
    this.at = at;
    return this;
  }

  /** The bytes of the object. */
  get bytes(): Buffer {
    const start = this.start;
    return Buffer.from(this.block.bytes.buffer, start, this.#word(head.size));
  }

  /** The length of {@link bytes}. */
  get size(): number {
    return this.#word(head.size);
  }

  /** The position in the block at which the bytes of the object begin. */
  get start(): number {
    return this.at - this.#word(head.back);
  }

  /** The number of bytes in memory of the record and the object together. */
  get footprint(): number {
    return this.#word(head.back) + this.#word(head.length);
  }

  /** The length of {@link record}. */
  get recordSize(): number {
    return this.#word(head.length);
  }

  /** The bytes of the record, which follow the bytes of the object in the block. */
  get record(): Buffer {
    return this.block.bytes.subarray(this.at, this.at + this.#word(head.length));
  }

  get revision(): number {
    return this.#word(head.high) * twoTo32 + (this.#word(head.low) >>> 0);
  }

  get key(): string {
    this.#locate(this.#word(head.key));
    return locatedText();
  }

  get name(): string {
    this.#locateName();
    return locatedText();
  }

  get namespace(): string | undefined {
    if (this.#word(head.namespace) === 0) return undefined;
    this.#locateNamespace();
    return locatedText();
  }

  get uid(): string | undefined {
    const ref = this.#word(head.uid);
    if (ref === 0) return undefined;
    this.#locate(ref);
    return locatedText();
  }

  get owners(): readonly KnownOwner[] | undefined {
    const position = this.#word(head.owners);
    if (position === 0) return undefined;
    return Array.from({ length: this.#word(position) }, (_, owner) => {
      const item = position + 1 + wordsOfOwner * owner;
      this.#locateItem(item);
      return { uid: locatedText(), blocks: this.#word(item + 2) === 1 };
    });
  }

  get deletion(): PropagationPolicy | undefined {
    return deletions[this.#word(head.counts) & 3];
  }

  get values(): readonly IndexValue[] {
    return Array.from({ length: this.#word(head.counts) >>> 2 }, (_, position) => this.valueAt(position));
  }

  /** True when the object has a value in any index. */
  get hasValues(): boolean {
    const end = headWords + (this.#word(head.counts) >>> 2);
    for (let position = headWords; position < end; position += 1) if (this.#word(position) !== 0) return true;
    return false;
  }

  valueAt(position: number): IndexValue {
    const ref = this.#word(headWords + position);
    if (ref === 0) return noValues;
    if (!isList(ref)) {
      this.#locate(ref);
      return locatedText();
    }
    if (lastList.block === this.block && lastList.at === this.at && lastList.position === position)
      return lastList.values;
    const values = this.#listAt(ref & positionMask);
    lastList = { block: this.block, at: this.at, position, values };
    return values;
  }

  #listAt(list: number): readonly string[] {
    return Array.from({ length: this.#word(list) }, (_, item) => {
      this.#locateItem(list + 1 + 2 * item);
      return locatedText();
    });
  }

  /** Returns the first or the last value of the object in an index; undefined when it has none. */
  oneValueAt(position: number, isLast: boolean): string | undefined {
    const ref = this.#word(headWords + position);
    if (ref === 0) return undefined;
    this.#locateOne(ref, isLast);
    return locatedText();
  }

  /**
   * Compares the first or the last value of the object in an index with a text, by code points. The object must have a
   * value in this index.
   */
  compareValue(position: number, isLast: boolean, text: string): number {
    this.#locateOne(this.#word(headWords + position), isLast);
    if (isWideText) return compareCodePoints(locatedText(), text);
    const end = Math.min(units, text.length);
    for (let at = 0; at < end; at += 1) {
      const difference = inBounds(inBytes[from + at]) - text.charCodeAt(at);
      if (difference !== 0) return difference;
    }
    return units - text.length;
  }

  /** True when both entries have the same values in an index. */
  hasSameValues(position: number, other: StoredEntry): boolean {
    const [ref, otherRef] = [this.#word(headWords + position), other.#word(headWords + position)];
    if (ref === 0 || otherRef === 0) return ref === otherRef;
    if (isList(ref) !== isList(otherRef)) return false;
    if (!isList(ref)) return this.#isSameText(ref, other, otherRef);
    const [list, otherList] = [ref & positionMask, otherRef & positionMask];
    const length = this.#word(list);
    if (other.#word(otherList) !== length) return false;
    for (let item = 1; item < 2 * length; item += 2)
      if (!this.#isSameText((list + item) | longBit, other, (otherList + item) | longBit)) return false;
    return true;
  }

  /**
   * Returns the {@link keyLength} characters of the name from `start` on as one number, by which names are sorted, as
   * `keyOf` does for a text. Returns NaN for a name with 2 bytes a character.
   */
  nameKey(start: number): number {
    this.#locateName();
    if (isWideText) return Number.NaN;
    let key = 0;
    for (let at = start; at < start + keyLength; at += 1)
      key = key * 256 + (at < units ? inBounds(inBytes[from + at]) : 0);
    return key;
  }

  /** Returns the length of the common prefix of two entries' names; 0 if a name is wide, with 2 bytes a character. */
  commonNameLength(other: StoredEntry): number {
    this.#locateName();
    const [bytes, start, length, isWide] = [inBytes, from, units, isWideText];
    other.#locateName();
    const end = isWide || isWideText ? 0 : Math.min(length, units);
    let at = 0;
    while (at < end && bytes[start + at] === inBytes[from + at]) at += 1;
    return at;
  }

  /** Compares by name, then by namespace, in the order of `compareNames` in `compare-strings.ts`. */
  compareNames(other: StoredEntry): number {
    this.#locateName();
    return this.#compareLocated(other, true) || this.#compareNamespaces(other);
  }

  hasKey(key: string): boolean {
    this.#locate(this.#word(head.key));
    if (units !== key.length) return false;
    if (isWideText) return locatedText() === key;
    for (let at = 0; at < units; at += 1) if (inBytes[from + at] !== key.charCodeAt(at)) return false;
    return true;
  }

  #compareNamespaces(other: StoredEntry): number {
    const [length, otherLength] = [this.#word(head.namespace), other.#word(head.namespace)];
    if (length < 2 || otherLength < 2) return length - otherLength;
    this.#locateNamespace();
    return this.#compareLocated(other, false);
  }

  /** Compares the name or the namespace, whose bytes the caller has located, with that of another record. */
  #compareLocated(other: StoredEntry, isName: boolean): number {
    const [bytes, start, length, isWide] = [inBytes, from, units, isWideText];
    if (isName) other.#locateName();
    else other.#locateNamespace();
    if (isWide || isWideText) {
      const text = locatedText();
      [inBytes, from, units, isWideText] = [bytes, start, length, isWide];
      return compareUnits(locatedText(), text);
    }
    const end = Math.min(length, units);
    for (let at = 0; at < end; at += 1) {
      const difference = inBounds(bytes[start + at]) - inBounds(inBytes[from + at]);
      if (difference !== 0) return difference;
    }
    return length - units;
  }

  #isSameText(ref: number, other: StoredEntry, otherRef: number): boolean {
    this.#locate(ref);
    const [bytes, start, length, isWide] = [inBytes, from, units, isWideText];
    other.#locate(otherRef);
    if (length !== units || isWide !== isWideText) return false;
    const end = isWide ? length * 2 : length;
    for (let at = 0; at < end; at += 1) if (bytes[start + at] !== inBytes[from + at]) return false;
    return true;
  }

  #word(position: number): number {
    return inBounds(this.block.words[this.at / 4 + position]);
  }

  #locateName(): void {
    this.#locate(this.#word(head.key));
    const namespace = this.#word(head.namespace);
    // `namespace` is the length of the namespace and of the slash after it.
    from += isWideText ? namespace * 2 : namespace;
    units -= namespace;
  }

  #locateNamespace(): void {
    this.#locate(this.#word(head.key));
    units = Math.max(0, this.#word(head.namespace) - 1);
  }

  #locateOne(ref: number, isLast: boolean): void {
    if (!isList(ref)) return this.#locate(ref);
    const list = ref & positionMask;
    this.#locateItem(isLast ? list + 2 * this.#word(list) - 1 : list + 1);
  }

  #locate(ref: number): void {
    if (ref < 0) return this.#locateItem(ref & positionMask);
    inBytes = this.block.bytes;
    from = this.at + (ref & (maxStart - 1));
    units = (ref >>> startBits) & (maxShort - 1);
    isWideText = (ref & wideBit) !== 0;
  }

  #locateItem(position: number): void {
    const length = this.#word(position + 1);
    inBytes = this.block.bytes;
    from = this.at + this.#word(position);
    units = length >>> 1;
    isWideText = (length & 1) !== 0;
  }
}

function isList(ref: number): boolean {
  return ref < 0 && (ref & listBit) !== 0;
}

/**
 * The maximum length of a text for which a pool is searched before a new string is created. Only short texts are often
 * the same: phases, teams, namespaces.
 */
const maxPooled = 32;
const pooledTexts = 4096;
const pool: string[] = Array.from({ length: pooledTexts }, () => '');

function locatedText(): string {
  if (isWideText) return inBytes.toString('utf16le', from, from + units * 2);
  if (units > maxPooled) return inBytes.toString('latin1', from, from + units);
  let hash = units;
  for (let at = 0; at < units; at += 1) hash = Math.imul(hash ^ inBounds(inBytes[from + at]), 0x01000193);
  const place = (hash ^ (hash >>> 15)) & (pooledTexts - 1);
  const known = inBounds(pool[place]);
  if (isLocated(known)) return known;
  return (pool[place] = inBytes.toString('latin1', from, from + units));
}

function isLocated(text: string): boolean {
  if (text.length !== units) return false;
  for (let at = 0; at < units; at += 1) if (text.charCodeAt(at) !== inBytes[from + at]) return false;
  return true;
}
