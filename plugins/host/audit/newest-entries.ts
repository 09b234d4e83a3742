import { rotatedFiles } from '@homeostat/apiserver';
import { open } from 'node:fs/promises';
import { isFound } from './audit-search.ts';
import type { AuditEntry, AuditSearch } from './audit-search.ts';

export interface NewestSearch extends AuditSearch {
  /** The time of the latest entry to find, in milliseconds since 1970. */
  readonly untilMs?: number | undefined;
  readonly limit: number;
}

export interface NewestEntries {
  /** The found entries, the newest first. */
  readonly entries: readonly AuditEntry[];
  /** False when the log may have older entries that match. */
  readonly isComplete: boolean;
}

/** The number of bytes of one read. Parsing them takes a few milliseconds; other requests are handled between reads. */
const pieceBytes = 128 * 1024;

/** The maximum number of bytes that one search reads. */
const maxBytes = 128 * 1024 * 1024;

/**
 * Resolves with the newest entries of a log and its rotated files, which it reads from their ends. A file that is
 * deleted meanwhile is left out.
 */
export async function newestEntries(file: string, search: NewestSearch, signal: AbortSignal): Promise<NewestEntries> {
  const { limit, untilMs = Number.POSITIVE_INFINITY, sinceMs = Number.NEGATIVE_INFINITY } = search;
  const entries: AuditEntry[] = [];
  const rotated = (await rotatedFiles(file)).toReversed();
  const budget = { bytes: maxBytes };
  for (const path of [file, ...rotated.map((each) => each.path)]) {
    for await (const line of linesFromEnd(path, budget)) {
      signal.throwIfAborted();
      const entry = parsed(line);
      if (entry === undefined) continue;
      const atMs = Date.parse(entry.stageTimestamp ?? '');
      // The search ends at an entry that is a minute too old, and not at the first one that is too old: entries are
      // written in batches, so their times may be slightly out of order.
      if (atMs < sinceMs - 60_000) return { entries, isComplete: true };
      if (!(atMs <= untilMs) || !isFound(entry, search)) continue;
      if (entries.length === limit) return { entries, isComplete: false };
      entries.push(entry);
    }
    if (budget.bytes <= 0) return { entries, isComplete: false };
  }
  return { entries, isComplete: true };
}

const newline = 10;

/** Yields the lines of a file, the last line first. */
async function* linesFromEnd(path: string, budget: { bytes: number }): AsyncGenerator<string> {
  const handle = await open(path, 'r').catch(() => undefined);
  if (handle === undefined) return;
  try {
    let end = (await handle.stat()).size;
    let rest = Buffer.alloc(0);
    while (end > 0 && budget.bytes > 0) {
      const start = Math.max(0, end - pieceBytes);
      const { buffer } = await handle.read(Buffer.alloc(end - start), 0, end - start, start);
      budget.bytes -= end - start;
      end = start;
      const bytes = Buffer.concat([buffer, rest]);
      const first = start === 0 ? -1 : bytes.indexOf(newline);
      if (start > 0 && first < 0) {
        rest = bytes;
        continue;
      }
      rest = bytes.subarray(0, first + 1);
      yield* bytes
        .subarray(first + 1)
        .toString()
        .split('\n')
        .toReversed();
    }
  } finally {
    await handle.close();
  }
}

/**
 * Returns the entry of a line; undefined for a line that is not an entry, such as one that was cut off when the disk
 * was full.
 */
function parsed(line: string): AuditEntry | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
