import { storeErrorCodeOf } from '../../store/store-error.ts';
import type { GroupCommit } from '../../store/group-commit.ts';
import type { Change, Row } from '../../store/store.ts';
import { storeUnavailable } from '../object/resource-errors.ts';
import { applyChange } from './apply-change.ts';
import type { MemoryParts } from './apply-change.ts';

/** A row whose encryption is outdated, and the number that identifies its kind in the database. */
interface OutdatedRow extends Row {
  readonly kind: number;
}

export interface RewriteParts extends MemoryParts {
  readonly commits: Pick<GroupCommit, 'submit'>;
  /** Yields the rows to write again, in pages, in the order of keys. */
  readonly outdated: () => AsyncIterable<readonly OutdatedRow[]>;
}

/** The progress of {@link rewriteObjects}. */
export interface RewriteProgress {
  /** The number of objects that were written again. */
  readonly rewritten: number;
  /** The number of objects that stay unchanged because they cannot be decrypted. */
  readonly unreadable: number;
  /** The reasons why some of the objects cannot be decrypted, at most {@link maxProblems}. */
  readonly problems: readonly string[];
}

/** The number of objects that are written at the same time. */
const atOnce = 100;

/** The maximum number of reported problems; further ones usually have the same causes. */
const maxProblems = 10;

/**
 * Writes objects again without changing them, so that the store encrypts them with the current key, or stores them in
 * plain text if the configuration says so. Each object gets a new resourceVersion and a MODIFIED event; everything else
 * stays the same. An object that a client writes meanwhile is skipped, because the client's write uses the current
 * configuration as well. Yields the progress after each step. After a stop, the next call writes only the objects that
 * remain.
 */
export async function* rewriteObjects(parts: RewriteParts): AsyncGenerator<RewriteProgress, void, undefined> {
  let rewritten = 0;
  let unreadable = 0;
  const problems = new Set<string>();
  for await (const page of parts.outdated()) {
    for (const { problem } of page) {
      if (problem === undefined) continue;
      unreadable += 1;
      if (problems.size < maxProblems) problems.add(problem);
    }
    const readable = page.filter(({ problem }) => problem === undefined);
    for (let from = 0; from < readable.length; from += atOnce) {
      const rows = readable.slice(from, from + atOnce);
      const written = await Promise.all(rows.map((row) => rewrite(row, parts)));
      rewritten += written.filter(Boolean).length;
      yield { rewritten, unreadable, problems: [...problems] };
    }
  }
  yield { rewritten, unreadable, problems: [...problems] };
}

/**
 * Writes one object again. Returns false when the object has changed since it was read: that change is already
 * encrypted with the current key.
 */
async function rewrite({ key, kind, revision: expect, data }: OutdatedRow, parts: RewriteParts): Promise<boolean> {
  const change: Omit<Change, 'revision'> = { op: 'update', key, kind, data, previous: { revision: expect, data } };
  try {
    const outcome = await parts.commits.submit({ op: 'update', key, kind, data, expect }, (revision) =>
      applyChange(parts, { ...change, revision }),
    );
    return 'revision' in outcome;
  } catch (error) {
    throw storeErrorCodeOf(error) === undefined ? error : storeUnavailable(error);
  }
}
