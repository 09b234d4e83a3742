import { operationCodes } from '../operation-codes.ts';
import { packNotes } from '../packed-notes.ts';
import { packPage, revisionsOf } from '../packed-page.ts';
import type { PackedPage, StoredRow } from '../packed-page.ts';
import type { WrittenCommit } from './merged-commits.ts';

/** Returns the changes of a commit, in the order of revisions; undefined when one of them is not a creation. */
export function pageOfCreations({ operations, outcomes }: WrittenCommit): PackedPage | undefined {
  const rows: (StoredRow & { readonly note: Uint8Array | undefined })[] = [];
  for (const [position, { op, key, kind, data, note }] of operations.entries()) {
    const outcome = outcomes[position];
    if (outcome === undefined || !('revision' in outcome)) continue;
    if (op !== 'create' || data === undefined) return undefined;
    rows.push({ key, kind, op: operationCodes.create, revision: outcome.revision, data, note });
  }
  return { ...packPage(rows, true), notes: packNotes(rows) };
}

/**
 * Adds notes to the changes of a commit that were read from the database, which stores no notes. A note is the part of
 * an operation that tells other processes more about the change.
 */
export function withNotes(
  pages: readonly PackedPage[],
  { operations, outcomes }: WrittenCommit,
): readonly PackedPage[] {
  const notes = new Map<number, Uint8Array>();
  for (const [position, { note }] of operations.entries()) {
    const outcome = outcomes[position];
    if (note !== undefined && outcome !== undefined && 'revision' in outcome) notes.set(outcome.revision, note);
  }
  if (notes.size === 0) return pages;
  return pages.map((page) => {
    const noted = revisionsOf(page).map((revision) => ({ note: notes.get(revision) }));
    return { ...page, notes: packNotes(noted) };
  });
}
