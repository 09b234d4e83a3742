import { storeErrorCodeOf } from '../../store/store-error.ts';
import type { GroupCommit } from '../../store/group-commit.ts';
import type { Change, Row } from '../../store/store.ts';
import { storeUnavailable } from '../object/resource-errors.ts';
import { applyChange } from './apply-change.ts';
import type { MemoryParts } from './apply-change.ts';

/** A row that has to be written again, with the number of its kind. */
interface OutdatedRow extends Row {
  readonly kind: number;
}

export interface RewriteParts extends MemoryParts {
  readonly commits: Pick<GroupCommit, 'submit'>;
  /** Yields the rows to write again, by key. */
  readonly outdated: () => AsyncIterable<readonly OutdatedRow[]>;
}

/** The state of a rewrite. */
export interface RewriteProgress {
  /** Objects that were written again. */
  readonly rewritten: number;
  /** Objects that cannot be decrypted, and stay unchanged. */
  readonly unreadable: number;
  /** The problems of some of them. */
  readonly problems: readonly string[];
}

/** The number of objects that are written at the same time. */
const atOnce = 100;

/** The maximum number of reported problems; further ones would have the same causes. */
const maxProblems = 10;

/**
 * Writes objects again unchanged, so that the store encrypts them with the present key. Each gets a new
 * resourceVersion, and watchers see it as modified; everything else stays the same. An object that a client writes
 * meanwhile is left alone, since that write uses the key as well. Yields the progress after each step; a rewrite that was
 * stopped is continued by the next one, which finds less to do.
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

/** Returns false when the object has changed since it was read: that write has used the present key. */
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
