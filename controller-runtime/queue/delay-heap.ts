import type { QueueEntry } from './queue-entry.ts';

/**
 * The delayed keys, ordered by due time: a binary heap. Each entry stores its index in the heap, so that the entry can
 * be moved or removed without a search.
 */
export class DelayHeap {
  readonly #entries: QueueEntry[] = [];
  #order = 0;

  get size(): number {
    return this.#entries.length;
  }

  /** All entries: first the one that is due first, then the others in no particular order. */
  entries(): Iterable<QueueEntry> {
    return this.#entries.values();
  }

  first(): QueueEntry | undefined {
    return this.#entries[0];
  }

  push(entry: QueueEntry): void {
    entry.order = this.#order++;
    entry.heapIndex = this.#entries.length;
    this.#entries.push(entry);
    this.#up(entry);
  }

  /** Restores the order after the due time of an entry was set to an earlier time. */
  moveEarlier(entry: QueueEntry): void {
    this.#up(entry);
  }

  remove(entry: QueueEntry): void {
    const hole = entry.heapIndex;
    const last = this.#entries.pop();
    entry.heapIndex = -1;
    if (last === undefined || last === entry) return;
    this.#place(last, hole);
    this.#up(last);
    this.#down(last);
  }

  #up(entry: QueueEntry): void {
    while (entry.heapIndex > 0) {
      const parent = this.#entries[(entry.heapIndex - 1) >> 1];
      if (parent === undefined || !isBefore(entry, parent)) return;
      this.#swap(entry, parent);
    }
  }

  #down(entry: QueueEntry): void {
    for (;;) {
      const left = this.#entries[2 * entry.heapIndex + 1];
      const right = this.#entries[2 * entry.heapIndex + 2];
      const child = left !== undefined && right !== undefined && isBefore(right, left) ? right : left;
      if (child === undefined || !isBefore(child, entry)) return;
      this.#swap(child, entry);
    }
  }

  #swap(a: QueueEntry, b: QueueEntry): void {
    const index = a.heapIndex;
    this.#place(a, b.heapIndex);
    this.#place(b, index);
  }

  #place(entry: QueueEntry, index: number): void {
    this.#entries[index] = entry;
    entry.heapIndex = index;
  }
}

function isBefore(a: QueueEntry, b: QueueEntry): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
}
