import { apiVersionOf } from '@homeostat/controller-runtime/api';
import type { Entry } from '../../index/entry.ts';
import type { KindCache } from '../../index/kind-cache.ts';
import { keyPrefixOf } from '../../store/object-key.ts';
import type { KeptData, KeptStore, NumberedKind, Row } from '../../store/store.ts';
import { isInVersion, withRevision } from '../object/object-codec.ts';
import { KeptPart, UnreadablePart } from './kept-part.ts';

export interface KeptReaderParts {
  readonly store: KeptStore;
  readonly kind: NumberedKind;
  readonly cache: KindCache;
  readonly fingerprint: string;
  /** Called with the reason when kept records cannot be read, or when they cannot be used and are deleted. */
  readonly onUnusable: (reason: string) => void;
}

/** Reads the kept records of a kind's objects, part by part, in the order of revisions. */
export class KeptReader {
  readonly #parts: KeptReaderParts;
  readonly #apiVersion: string;
  readonly #keyPrefix: string;
  #part: KeptPart | undefined;
  /** The next part of the kept records, which the store reads while the current part is used. */
  #next: Promise<KeptData | undefined> | undefined;
  #last = 0;
  #isOver = false;
  #size = 0;
  #used = 0;

  constructor(parts: KeptReaderParts) {
    this.#parts = parts;
    this.#apiVersion = apiVersionOf(parts.cache.descriptor);
    this.#keyPrefix = keyPrefixOf(parts.kind);
  }

  /** The number of kept records that were read, including the records of former states of objects. */
  get size(): number {
    return this.#size;
  }

  /** The number of entries that were taken from the kept records, and therefore not computed. */
  get used(): number {
    return this.#used;
  }

  /** The highest revision of the parts that were read; 0 if no part was read, or if the kept records were dropped. */
  get last(): number {
    return this.#last;
  }

  /**
   * Returns true when the caller has to await {@link advance} before it calls {@link entryOf} for a row with this
   * revision.
   */
  isBefore(revision: number): boolean {
    return !this.#isOver && revision > this.#last;
  }

  /**
   * Reads the next parts of the kept records, until a part has records up to this revision or no parts are left. Then
   * {@link entryOf} can look for the record of this revision.
   */
  async advance(revision: number): Promise<void> {
    while (this.isBefore(revision)) {
      const found = await (this.#next ?? this.#readAfter(this.#last));
      if (found === undefined) this.#end();
      else await this.#take(found);
      this.#next = this.#isOver ? undefined : this.#readAfter(this.#last);
    }
  }

  /** Reads the remaining parts of the kept records, which contain only records of former states of objects. */
  async finish(): Promise<void> {
    await this.advance(Infinity);
  }

  /**
   * Returns the entry of a row; undefined when the entry has to be computed. Call this for rows in the order of their
   * revisions.
   * @throws BrokenObjectError
   */
  entryOf({ key, revision, data, problem }: Row): Entry | undefined {
    const part = this.#part;
    const at = part?.find(revision);
    // The kept values were computed from the object in the storage version, so they do not fit an object that is stored
    // in another version.
    if (part === undefined || at === undefined || problem !== undefined || !isInVersion(data, this.#apiVersion))
      return undefined;
    const { slabs } = this.#parts.cache;
    const bytes = withRevision(data, revision, slabs.allocate);
    if (!part.hasBytes(at, bytes)) return undefined;
    const entry = part.entryAt(at, bytes, slabs);
    if (!key.startsWith(this.#keyPrefix) || !entry.hasKey(key.slice(this.#keyPrefix.length))) return undefined;
    this.#used += 1;
    return entry;
  }

  /** Reads the next part. Reports a failure instead of throwing it: a start without kept values only takes longer. */
  async #readAfter(last: number): Promise<KeptData | undefined> {
    const { store, kind, onUnusable } = this.#parts;
    try {
      return await store.read(kind, last + 1);
    } catch (error) {
      onUnusable(error instanceof Error ? error.message : String(error));
      return undefined;
    }
  }

  async #take({ last, data, problem }: KeptData): Promise<void> {
    try {
      if (problem !== undefined) throw new UnreadablePart(problem);
      const part = new KeptPart(data);
      if (part.fingerprint !== this.#parts.fingerprint)
        throw new UnreadablePart('the values were written for other indexes, or by another version of the program');
      this.#part = part;
      this.#last = last;
      this.#size += part.size;
    } catch (error) {
      if (!(error instanceof UnreadablePart)) throw error;
      await this.drop(error.message);
    }
  }

  /** Deletes all kept records of the kind from the store, reports the reason, and reads no more of them. */
  async drop(reason: string): Promise<void> {
    this.#end();
    this.#last = 0;
    this.#size = 0;
    const { store, kind, onUnusable } = this.#parts;
    onUnusable(reason);
    await store.drop(kind);
  }

  #end(): void {
    this.#isOver = true;
    this.#part = undefined;
  }
}
