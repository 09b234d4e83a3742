import type { OwnerReference } from '@homeostat/controller-runtime/api';
import { formatKey } from '@homeostat/controller-runtime/api';
import { inBounds } from '../base/in-bounds.ts';
import type { Entry, IndexValues, KnownOwner } from './entry.ts';
import { policyOf } from './propagation.ts';
import { Block, placeAlone } from './slabs.ts';
import type { Slabs } from './slabs.ts';
import {
  deletions,
  head,
  headWords,
  listBit,
  longBit,
  maxShort,
  maxStart,
  startBits,
  StoredEntry,
  twoTo32,
  wideBit,
  wordsOfOwner,
} from './stored-entry.ts';

/** The parts of an entry besides the metadata of its object. */
export interface EntryParts {
  readonly revision: number;
  /** The bytes of the object. They are not copied if they are the last allocation in `slabs`. */
  readonly bytes: Buffer;
  /** The values of the indexes, from `KindCache.draft`. */
  readonly values: IndexValues;
  /** The memory of the kind. If it is absent, the entry gets separate memory. */
  readonly slabs?: Pick<Slabs, 'placeBehind'>;
}

/** The part of an object from which an entry is created. */
export interface EntryObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string | undefined;
    readonly uid?: string | undefined;
    readonly ownerReferences?: readonly Pick<OwnerReference, 'uid' | 'blockOwnerDeletion'>[] | undefined;
    readonly deletionTimestamp?: string | undefined;
    readonly finalizers?: readonly string[] | undefined;
  };
}

const noOwners: readonly KnownOwner[] = [];

const alone = { placeBehind: placeAlone };

/** Writes the record of an object, and returns its entry. */
export function createEntry(
  { metadata }: EntryObject,
  { revision, bytes, values, slabs = alone }: EntryParts,
): StoredEntry {
  const { name, namespace, uid, ownerReferences = [], deletionTimestamp, finalizers } = metadata;
  return writeRecord(slabs, {
    key: namespace === undefined ? name : formatKey({ namespace, name }),
    name,
    namespace,
    uid,
    revision,
    bytes,
    values,
    owners: ownerReferences.length === 0 ? noOwners : ownerReferences.map(linkOf),
    deletion: deletionTimestamp === undefined ? undefined : policyOf(finalizers),
  });
}

/** Copies an entry into the memory of a kind. Returns a {@link StoredEntry} unchanged, since it is a copy already. */
export function entryIn(slabs: Pick<Slabs, 'placeBehind'>, entry: Entry): StoredEntry {
  return entry instanceof StoredEntry ? entry : writeRecord(slabs, entry);
}

/** Copies an entry into memory of its own. Returns a {@link StoredEntry} unchanged, since it is a copy already. */
export function entryAlone(entry: Entry): StoredEntry {
  return entryIn(alone, entry);
}

/** Returns a copy of an entry, with other bytes or another revision. */
export function entryWith(entry: Entry, changes: Partial<Pick<Entry, 'bytes' | 'revision'>>): Entry {
  const { key, name, namespace, uid, values, owners, deletion } = entry;
  const { bytes = entry.bytes, revision = entry.revision } = changes;
  return { key, name, namespace, uid, revision, bytes, size: bytes.length, values, owners, deletion };
}

/** Returns the memory that an entry takes, in bytes. */
export function footprintOf(entry: Entry): number {
  return entry instanceof StoredEntry ? entry.footprint : entry.size;
}

function linkOf({ uid, blockOwnerDeletion = false }: Pick<OwnerReference, 'uid' | 'blockOwnerDeletion'>): KnownOwner {
  return { uid, blocks: blockOwnerDeletion };
}

/**
 * The size of the buffer `draft`. A record is first written into it, and then copied, because the length of a record is
 * known only at its end. A larger record gets its own buffer.
 */
const usualSize = 64 * 1024;
let draft = new Block(usualSize);
let filled = 0;

/** Writes the record of an entry behind its bytes, and returns the record. */
export function writeRecord(slabs: Pick<Slabs, 'placeBehind'>, entry: Omit<Entry, 'size'>): StoredEntry {
  const { key, name, namespace, uid, revision, bytes, values, owners, deletion } = entry;
  filled = 4 * (headWords + values.length);
  const keyRef = addText(key);
  // The name is the end of the key, so it is stored as a reference into the key's text.
  const isShort = keyRef >= 0 && (keyRef & wideBit) === 0;
  const nameRef = isShort ? (filled - name.length) | (name.length << startBits) : 0;
  const uidRef = uid === undefined ? 0 : addText(uid);
  for (let at = 0; at < values.length; at += 1) {
    const value = inBounds(values[at]);
    let ref = nameRef;
    if (typeof value !== 'string') ref = value.length === 0 ? 0 : addList(value);
    else if (value !== name || nameRef === 0) ref = addText(value);
    draft.words[headWords + at] = ref;
  }
  const ownersAt = owners === undefined || owners.length === 0 ? 0 : addOwners(owners);
  const length = (filled + 3) & ~3;
  const { words } = draft;
  words[head.size] = bytes.length;
  words[head.low] = (revision % twoTo32) | 0;
  words[head.high] = Math.floor(revision / twoTo32);
  words[head.length] = length;
  words[head.key] = keyRef;
  words[head.uid] = uidRef;
  words[head.namespace] = namespace === undefined ? 0 : namespace.length + 1;
  words[head.owners] = ownersAt;
  words[head.counts] = values.length * 4 + deletions.indexOf(deletion);
  return copyRecord(slabs, bytes, draft.bytes.subarray(0, length));
}

/** Copies a record behind the bytes that it describes. */
export function copyRecord(slabs: Pick<Slabs, 'placeBehind'>, bytes: Buffer, record: Uint8Array): StoredEntry {
  const { block, at, bytesAt } = slabs.placeBehind(bytes, record.length);
  block.bytes.set(record, at);
  block.words[at / 4 + head.back] = at - bytesAt;
  if (draft.bytes.length > usualSize) draft = new Block(usualSize);
  return new StoredEntry(block, at);
}

/**
 * Copies a record that {@link createEntry} wrote before the bytes and their revision were known, and adds the bytes and
 * the revision.
 */
export function completeRecord(
  slabs: Pick<Slabs, 'placeBehind'>,
  { revision, bytes, record }: Pick<EntryParts, 'revision' | 'bytes'> & { readonly record: Uint8Array },
): StoredEntry {
  const entry = copyRecord(slabs, bytes, record);
  const { words } = entry.block;
  const at = entry.at / 4;
  words[at + head.size] = bytes.length;
  words[at + head.low] = (revision % twoTo32) | 0;
  words[at + head.high] = Math.floor(revision / twoTo32);
  return entry;
}

/** Adds a text to the record in `draft`, and returns the reference to the text. */
function addText(text: string): number {
  const start = filled;
  const isWide = addUnits(text);
  if (start < maxStart && text.length < maxShort) return start | (text.length << startBits) | (isWide ? wideBit : 0);
  const word = reserve(2);
  draft.words[word] = start;
  draft.words[word + 1] = text.length * 2 + Number(isWide);
  return word | longBit;
}

/** Writes a text, with one byte for each code unit if possible, otherwise with two. Returns true when it takes two. */
function addUnits(text: string): boolean {
  if (filled + 2 * text.length > draft.bytes.length) enlarge(2 * text.length);
  const { bytes } = draft;
  const start = filled;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit > 255) {
      filled += bytes.write(text, start, 'utf16le');
      return true;
    }
    bytes[start + at] = unit;
  }
  filled += text.length;
  return false;
}

function addList(values: readonly string[]): number {
  const list = reserve(1 + 2 * values.length);
  draft.words[list] = values.length;
  for (const [at, value] of values.entries()) addItem(list + 1 + 2 * at, value);
  return list | longBit | listBit;
}

function addOwners(owners: readonly KnownOwner[]): number {
  const list = reserve(1 + wordsOfOwner * owners.length);
  draft.words[list] = owners.length;
  for (const [at, { uid, blocks }] of owners.entries()) {
    const item = list + 1 + wordsOfOwner * at;
    addItem(item, uid);
    draft.words[item + 2] = Number(blocks);
  }
  return list;
}

function addItem(word: number, text: string): void {
  const start = filled;
  const isWide = addUnits(text);
  draft.words[word] = start;
  draft.words[word + 1] = text.length * 2 + Number(isWide);
}

/**
 * Reserves space for this many words (of four bytes) in the buffer `draft`, and returns the position of the first one.
 */
function reserve(words: number): number {
  const start = (filled + 3) & ~3;
  if (start + 4 * words > draft.bytes.length) enlarge(start - filled + 4 * words);
  filled = start + 4 * words;
  return start / 4;
}

function enlarge(by: number): void {
  const larger = new Block(2 * (filled + by));
  draft.bytes.copy(larger.bytes, 0, 0, filled);
  draft = larger;
}
