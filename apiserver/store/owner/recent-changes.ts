import { unpackChanges } from '../packed-page.ts';
import type { Change } from '../store.ts';
import type { CommittedChanges } from './owner-messages.ts';

/**
 * The maximum number of bytes of changes that are kept. A caller that needs older changes reads them from the database.
 */
const maxBytes = 8 * 1024 * 1024;

/**
 * The latest changes that the owner of the database has sent. They are in the order of the history, and may have gaps.
 */
export class RecentChanges {
  #parts: CommittedChanges[] = [];
  #bytes = 0;

  add(committed: CommittedChanges): void {
    this.#parts.push(committed);
    this.#bytes += bytesOf(committed);
    while (this.#bytes > maxBytes) this.#dropFirst();
  }

  clear(): void {
    this.#parts = [];
    this.#bytes = 0;
  }

  /**
   * Returns the first `limit` changes after a revision, in revision order; undefined when not all of them are in
   * memory. The call also removes from memory each {@link CommittedChanges} without a change after the revision.
   */
  after(revision: number, limit: number): readonly Change[] | undefined {
    while ((this.#parts[0]?.upTo ?? Infinity) <= revision) this.#dropFirst();
    const found: Change[] = [];
    let reached = revision;
    for (const { after, upTo, pages } of this.#parts) {
      // Part of the history is missing: the owner has not sent the changes between the previous part and this one.
      if (after > reached) return undefined;
      reached = upTo;
      for (const change of pages.flatMap(unpackChanges)) {
        if (change.revision > revision) found.push(change);
        if (found.length === limit) return found;
      }
    }
    return undefined;
  }

  #dropFirst(): void {
    const first = this.#parts.shift();
    if (first !== undefined) this.#bytes -= bytesOf(first);
  }
}

function bytesOf({ pages }: CommittedChanges): number {
  return pages.reduce((sum, { bytes, notes }) => sum + bytes.byteLength + (notes?.bytes.length ?? 0), 0);
}
