const fewestSlots = 16;

/** The hashes of keys, and the revisions of their objects at the same positions. */
export interface RevisionPairs {
  readonly hashes: Uint32Array;
  readonly revisions: Float64Array;
}

/**
 * The revisions of a kind's present objects, by the hashes of their keys. The table takes 16 to 32 bytes for each
 * object, and contains no objects that JavaScript's garbage collection would have to visit. Different keys may have
 * equal hashes; their entries differ by the revision, because no two objects have the same revision.
 */
export class RevisionTable {
  #hashes = new Uint32Array(fewestSlots);
  /**
   * The revision in each slot; 0 means that the slot is free. The hash of an object determines its slot. If this slot
   * is taken, the object is in the next free slot.
   */
  #revisions = new Float64Array(fewestSlots);
  #size = 0;

  /** Returns a table with these pairs. */
  static of({ hashes, revisions }: RevisionPairs): RevisionTable {
    const table = new RevisionTable();
    while (table.#revisions.length * 3 < revisions.length * 4 + 4) table.#grow();
    for (const [at, revision] of revisions.entries()) table.add(hashes[at] ?? 0, revision);
    return table;
  }

  /** Returns the hash of the key and the revision of each object, in no particular order. */
  pairs(): RevisionPairs {
    const hashes = new Uint32Array(this.#size);
    const revisions = new Float64Array(this.#size);
    let at = 0;
    for (const [slot, revision] of this.#revisions.entries()) {
      if (revision === 0) continue;
      hashes[at] = this.#hashes[slot] ?? 0;
      revisions[at++] = revision;
    }
    return { hashes, revisions };
  }

  get size(): number {
    return this.#size;
  }

  add(hash: number, revision: number): void {
    if ((this.#size + 1) * 4 > this.#revisions.length * 3) this.#grow();
    const mask = this.#revisions.length - 1;
    let slot = hash & mask;
    while (this.#revisions[slot] !== 0) slot = (slot + 1) & mask;
    this.#hashes[slot] = hash;
    this.#revisions[slot] = revision;
    this.#size += 1;
  }

  /**
   * Records that the revision of an object has changed. Returns false when the table does not have the former revision.
   */
  replace(hash: number, from: number, to: number): boolean {
    const slot = this.#slotOf(hash, from);
    if (slot < 0) return false;
    this.#revisions[slot] = to;
    return true;
  }

  /** Removes an object. Returns false when it is not in the table. */
  remove(hash: number, revision: number): boolean {
    const slot = this.#slotOf(hash, revision);
    if (slot < 0) return false;
    this.#free(slot);
    this.#size -= 1;
    return true;
  }

  /** Returns the first revision with this hash for which `isFound` returns true; 0 when there is none. */
  find(hash: number, isFound: (revision: number) => boolean): number {
    const mask = this.#revisions.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const revision = this.#revisions[slot] ?? 0;
      if (revision === 0 || (this.#hashes[slot] === hash && isFound(revision))) return revision;
    }
  }

  /** Writes all revisions into a list, from a position on. Returns the position after them. */
  copyTo(list: Float64Array, from: number): number {
    let at = from;
    for (const revision of this.#revisions) if (revision !== 0) list[at++] = revision;
    return at;
  }

  #slotOf(hash: number, wanted: number): number {
    const mask = this.#revisions.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const revision = this.#revisions[slot] ?? 0;
      if (revision === 0) return -1;
      if (revision === wanted && this.#hashes[slot] === hash) return slot;
    }
  }

  /** Frees a slot. Moves back the entries after it that a search would otherwise no longer reach. */
  #free(freed: number): void {
    const mask = this.#revisions.length - 1;
    let free = freed;
    for (let slot = (free + 1) & mask; this.#revisions[slot] !== 0; slot = (slot + 1) & mask) {
      const home = (this.#hashes[slot] ?? 0) & mask;
      if (((slot - home) & mask) < ((slot - free) & mask)) continue;
      this.#hashes[free] = this.#hashes[slot] ?? 0;
      this.#revisions[free] = this.#revisions[slot] ?? 0;
      free = slot;
    }
    this.#revisions[free] = 0;
  }

  #grow(): void {
    const hashes = this.#hashes;
    const revisions = this.#revisions;
    this.#hashes = new Uint32Array(hashes.length * 2);
    this.#revisions = new Float64Array(revisions.length * 2);
    this.#size = 0;
    for (const [slot, revision] of revisions.entries()) if (revision !== 0) this.add(hashes[slot] ?? 0, revision);
  }
}
