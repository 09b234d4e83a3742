import type { OwnerReference } from '@homeostat/controller-runtime/api';
import { formatKey } from '@homeostat/controller-runtime/api';
import { policyOf } from './propagation.ts';
import type { PropagationPolicy } from './propagation.ts';

/**
 * Values of one object in one index: a list, or the value itself when there is only one, because a list would take 56
 * bytes more.
 */
export type IndexValue = string | readonly string[];

/** Index values of one object, for each index of its kind: encoded, distinct, in code point order. */
export type IndexValues = readonly IndexValue[];

const noValues: readonly string[] = Object.freeze([]);

/** The values as a list. Default: none. */
export function valueList(value: IndexValue = noValues): readonly string[] {
  return typeof value === 'string' ? [value] : value;
}

/** One owner of an object, with the data that needs no parsing of the object. */
interface OwnerLink {
  readonly uid: string;
  /** True when the owner, deleted in the foreground, waits for this object. */
  readonly blocks: boolean;
}

/**
 * One stored object at one revision. It is never modified, only replaced: an array of entries is a consistent snapshot.
 */
export interface Entry {
  /** `name`, or `namespace/name`. */
  readonly key: string;
  readonly name: string;
  readonly namespace: string | undefined;
  readonly uid: string | undefined;
  /** The revision of the object's last change; its resourceVersion. */
  readonly revision: number;
  /** The object as clients receive it. Each read makes a Buffer; it stays valid. */
  readonly bytes: Buffer;
  /** The number of {@link bytes}. */
  readonly size: number;
  readonly values: IndexValues;
  /** The owners in its ownerReferences; undefined when it has none. */
  readonly owners: readonly OwnerLink[] | undefined;
  /** The policy for its dependents once it is marked for deletion; undefined before. */
  readonly deletion: PropagationPolicy | undefined;
}

/** The parts of an entry that its object does not hold. */
export interface EntryParts {
  readonly revision: number;
  /**
   * Not copied: allocate them in {@link Slabs} or outside of Buffer's pool, because one entry would keep 8 KB of the
   * pool alive.
   */
  readonly bytes: Buffer;
  /** From `KindCache.draft`. */
  readonly values: IndexValues;
}

/** The part of an object that an entry is made of. */
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

/** An object in memory. It knows the place of its bytes and holds no Buffer, which would take 200 bytes of memory more. */
export class StoredEntry implements Entry {
  // Only declared: a field that were also initialized here would be written twice.
  declare readonly key: string;
  declare readonly name: string;
  declare readonly namespace: string | undefined;
  declare readonly uid: string | undefined;
  declare readonly revision: number;
  declare readonly values: IndexValues;
  declare readonly owners: readonly OwnerLink[] | undefined;
  declare readonly deletion: PropagationPolicy | undefined;
  declare readonly size: number;
  declare memory: ArrayBufferLike;
  declare offset: number;

  constructor({ metadata }: EntryObject, { revision, bytes, values }: EntryParts) {
    const { name, namespace, uid, ownerReferences, deletionTimestamp, finalizers } = metadata;
    this.key = namespace === undefined ? name : formatKey({ namespace, name });
    this.name = name;
    this.namespace = namespace;
    this.uid = uid;
    this.revision = revision;
    this.values = values;
    this.owners =
      ownerReferences === undefined || ownerReferences.length === 0 ? undefined : ownerReferences.map(linkOf);
    this.deletion = deletionTimestamp === undefined ? undefined : policyOf(finalizers);
    this.size = bytes.length;
    this.memory = bytes.buffer;
    this.offset = bytes.byteOffset;
  }

  get bytes(): Buffer {
    return Buffer.from(this.memory, this.offset, this.size);
  }
}

/** Returns the same entry with other bytes or another revision. A copy by spread alone would have no bytes. */
export function entryWith(entry: Entry, changes: Partial<Pick<Entry, 'bytes' | 'revision'>>): Entry {
  const { bytes = entry.bytes, revision = entry.revision } = changes;
  return { ...entry, revision, bytes, size: bytes.length };
}

/** The memory that the bytes of an entry are a part of. */
export function memoryOf(entry: Entry): ArrayBufferLike {
  return entry instanceof StoredEntry ? entry.memory : entry.bytes.buffer;
}

/** Moves the bytes of an entry to other memory. */
export function moveBytes(entry: Entry, allocate: (size: number) => Buffer): void {
  if (!(entry instanceof StoredEntry)) return;
  const bytes = allocate(entry.size);
  entry.bytes.copy(bytes);
  entry.memory = bytes.buffer;
  entry.offset = bytes.byteOffset;
}

function linkOf({ uid, blockOwnerDeletion = false }: Pick<OwnerReference, 'uid' | 'blockOwnerDeletion'>): OwnerLink {
  return { uid, blocks: blockOwnerDeletion };
}

/**
 * The position of one object in the indexes; the only mutable part here. A write that leaves an index value unchanged
 * sets `entry` and does not touch that index: a new status, with nine indexes, costs 9 µs instead of 40.
 */
export interface Slot {
  readonly name: string;
  readonly namespace: string | undefined;
  entry: Entry;
}

export function createSlot(entry: Entry): Slot {
  return { name: entry.name, namespace: entry.namespace, entry };
}

/** The order of objects with equal sort values. */
export type NameOrder = Pick<Entry, 'name' | 'namespace'>;

/** By name, then by namespace. Both are ASCII by rule. */
export function compareNames(a: NameOrder, b: NameOrder): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  if (a.namespace === b.namespace) return 0;
  return compareUnits(a.namespace ?? '', b.namespace ?? '');
}

/** Compares two strings; negative, zero or positive, as for `Array.prototype.sort`. */
export type CompareStrings = (a: string, b: string) => number;

// Below the surrogates, the orders by code unit and by code point are equal.
const wide = /[\ud800-\uffff]/;

/** True when the string holds a code unit for which UTF-16 order may differ from code point order. */
export function isWide(text: string): boolean {
  return wide.test(text);
}

/** Compares by UTF-16 code unit, which equals code point order unless both strings are wide. */
export function compareUnits(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** The first block of a kind is small, because most kinds have few objects. */
const smallestBlock = 16 * 1024;

/** A block stays in memory as long as one of its objects is in use. A million objects of 1 KB take 1,300 blocks. */
const largestBlock = 1024 * 1024;

/** Larger objects have memory of their own. */
const largestShared = largestBlock / 8;

/** Memory is compacted from this share of garbage on. */
const garbageShare = 1 / 6;

/**
 * Memory for the bytes of a kind's objects: blocks that are filled one after the other, and never written twice. So bytes that were
 * given out stay valid, and keep their block in memory.
 */
export class Slabs {
  #block: Buffer = Buffer.alloc(0);
  #filled = 0;
  /** Bytes of the objects in use, and of those that were since the last compaction. */
  #used = 0;
  #garbage = 0;
  /** The blocks that were begun since {@link seal}; undefined after {@link settle}. */
  #fresh: Set<ArrayBufferLike> | undefined;

  /** Memory for the bytes of one object. The caller writes it in this turn, and never again. */
  readonly allocate = (size: number): Buffer => {
    this.#used += size;
    if (size > largestShared) return Buffer.allocUnsafeSlow(size);
    if (this.#filled + size > this.#block.length) this.#begin(size);
    const from = this.#filled;
    this.#filled += size;
    return this.#block.subarray(from, this.#filled);
  };

  /** Counts bytes that are no longer in use. */
  release(size: number): void {
    this.#used -= size;
    this.#garbage += size;
  }

  /** True when so much is garbage that compaction is worth its work. */
  get isSparse(): boolean {
    return this.#garbage > largestBlock && this.#garbage > garbageShare * (this.#used + this.#garbage);
  }

  /** Ends the present block: the blocks so far are not written any more. {@link settle} must follow. */
  seal(): void {
    this.#block = Buffer.alloc(0);
    this.#filled = 0;
    this.#used = 0;
    this.#fresh = new Set();
  }

  /** True for memory that was not written any more when {@link seal} was called. */
  isSealed(memory: ArrayBufferLike): boolean {
    return this.#fresh?.has(memory) !== true;
  }

  /** Counts again: this many bytes of the sealed blocks are still in use, and this many are garbage. */
  settle(used: number, garbage: number): void {
    this.#used += used;
    this.#garbage = garbage;
    this.#fresh = undefined;
  }

  #begin(size: number): void {
    const wanted = Math.max(smallestBlock, this.#used / 4, size);
    this.#block = Buffer.allocUnsafeSlow(Math.min(largestBlock, Math.ceil(wanted)));
    this.#fresh?.add(this.#block.buffer);
    this.#filled = 0;
  }
}
