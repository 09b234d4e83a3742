import type { QueueEntry, ReadyLevel } from './queue-entry.ts';

/**
 * Each priority has a list of keys. When there are this many lists, the empty ones are removed before another list is
 * added. Until then, empty lists are kept, because the same few priorities are used repeatedly.
 */
const maxLevels = 32;

/**
 * The ready keys, those with the highest priority first. Keys with the same priority are first in, first out. Each
 * operation takes constant time while there are few priorities.
 */
export class ReadyList {
  readonly #levels = new Map<number, ReadyLevel>();
  /** The lists of all priorities, the highest priority first. */
  #ordered: ReadyLevel[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Appends an entry to the list of its priority. */
  push(entry: QueueEntry, priority: number): void {
    const level = this.#levels.get(priority) ?? this.#addLevel(priority);
    entry.level = level;
    entry.before = level.last;
    entry.after = undefined;
    if (level.last === undefined) level.first = entry;
    else level.last.after = entry;
    level.last = entry;
    this.#size += 1;
  }

  shift(): QueueEntry | undefined {
    for (const level of this.#ordered) {
      if (level.first === undefined) continue;
      const entry = level.first;
      this.remove(entry);
      return entry;
    }
    return undefined;
  }

  /** The entries in the order in which {@link shift} returns them. */
  *entries(): Iterable<QueueEntry> {
    for (const level of this.#ordered) {
      for (let entry = level.first; entry !== undefined; entry = entry.after) yield entry;
    }
  }

  remove(entry: QueueEntry): void {
    const { level, before, after } = entry;
    if (level === undefined) return;
    if (before === undefined) level.first = after;
    else before.after = after;
    if (after === undefined) level.last = before;
    else after.before = before;
    entry.level = undefined;
    entry.before = undefined;
    entry.after = undefined;
    this.#size -= 1;
  }

  #addLevel(priority: number): ReadyLevel {
    if (this.#levels.size >= maxLevels) this.#dropEmptyLevels();
    const level: ReadyLevel = { priority, first: undefined, last: undefined };
    this.#levels.set(priority, level);
    this.#ordered = [...this.#ordered, level].sort((a, b) => b.priority - a.priority);
    return level;
  }

  #dropEmptyLevels(): void {
    this.#ordered = this.#ordered.filter((level) => level.first !== undefined);
    this.#levels.clear();
    for (const level of this.#ordered) this.#levels.set(level.priority, level);
  }
}
