import { unpackChanges } from '../packed-page.ts';
import type { Change } from '../store.ts';
import type { CommittedChanges } from './owner-messages.ts';

/** A caller that is further behind reads from the database. */
const maxBytes = 8 * 1024 * 1024;

/** The latest changes, as the owner of the database sent them: a part of history without gaps. */
export class RecentChanges {
  #parts: CommittedChanges[] = [];
  #bytes = 0;

  add(committed: CommittedChanges): void {
    if (this.#parts.at(-1)?.upTo !== committed.after) this.clear();
    this.#parts.push(committed);
    this.#bytes += committed.page.bytes.byteLength;
    while (this.#bytes > maxBytes) this.#dropFirst();
  }

  clear(): void {
    this.#parts = [];
    this.#bytes = 0;
  }

  /**
   * The changes after a revision, in revision order: a complete prefix of at most `limit`. Empty when they are not known. Changes that
   * are called for are kept no longer than until later ones are.
   */
  after(revision: number, limit: number): readonly Change[] {
    while ((this.#parts[0]?.upTo ?? Infinity) <= revision) this.#dropFirst();
    if ((this.#parts[0]?.after ?? Infinity) > revision) return [];
    const found: Change[] = [];
    for (const { page } of this.#parts) {
      for (const change of unpackChanges(page)) {
        if (found.length === limit) return found;
        if (change.revision > revision) found.push(change);
      }
    }
    return found;
  }

  #dropFirst(): void {
    this.#bytes -= this.#parts.shift()?.page.bytes.byteLength ?? 0;
  }
}
