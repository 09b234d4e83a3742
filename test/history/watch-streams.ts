// The guarantees of a watch, as in etcd (https://etcd.io/docs/v3.6/learning/api_guarantees/#watch-apis). In a history,
// a revision is one change of one object. Each check returns the violations of its guarantee.
import { changesOf, distinctChangesOf } from './change-log.ts';
import type { Change } from './change-log.ts';
import type { Event, History, Stream, Watch } from './history.ts';

/** Checks that a watcher never receives an earlier change after a later one, over all its connections. */
export function findDisorder({ watches }: History): string[] {
  return watches.flatMap((watch) => {
    const revisions = revisionsOf(watch.streams);
    return revisions.flatMap((revision, at) => {
      const before = revisions[at - 1] ?? 0;
      return revision < before ? [`${watch.watcher} received revision ${revision} after ${before}`] : [];
    });
  });
}

/** Checks that a watcher receives each change only once, over all its connections. */
export function findRepetition({ watches }: History): string[] {
  return watches.flatMap((watch) => {
    const told = new Set<number>();
    return revisionsOf(watch.streams).flatMap((revision) => {
      if (told.has(revision)) return [`${watch.watcher} received revision ${revision} again`];
      told.add(revision);
      return [];
    });
  });
}

/** Checks that a revision is one change: all responses and events of all replicas show the same state for it. */
export function findHalfChange(history: History): string[] {
  const first = new Map<number, Change>();
  return changesOf(history).flatMap((change) => {
    const known = first.get(change.revision) ?? change;
    first.set(change.revision, known);
    return known.text === change.text ? [] : [`${known.by} saw ${known.text}, ${change.by} saw ${change.text}`];
  });
}

/** Checks that a connection that resumes after a revision begins with the first change after this revision. */
export function findBadResumption(history: History): string[] {
  return eachStream(history, ({ watcher }, stream, changes) => {
    const { after } = stream;
    const revisions = revisionsOf([stream]);
    const { first } = spanOf(revisions);
    const old = revisions.filter((revision) => revision <= after);
    const missed = changes.filter(({ revision }) => revision > after && revision < first);
    return [
      ...old.map((revision) => `${watcher} resumed after revision ${after}, but received ${revision}`),
      ...missed.map(({ text }) => `${watcher} resumed after revision ${after}, received ${first}, but not ${text}`),
    ];
  });
}

/** Checks that no change is missing between two events of a connection. */
export function findGap(history: History): string[] {
  return eachStream(history, ({ watcher }, stream, changes) => {
    const told = new Set(revisionsOf([stream]));
    const { first, last } = spanOf([...told]);
    return changes
      .filter(({ revision }) => revision > first && revision < last && !told.has(revision))
      .map(({ text }) => `${watcher} received revisions ${first} and ${last}, but not ${text}`);
  });
}

/** Checks that all changes up to the revision of a bookmark come before the bookmark. */
export function findEarlyBookmark(history: History): string[] {
  return eachStream(history, ({ watcher }, { after, frames }, changes) => {
    const told = new Set<number>();
    const covered = changes.filter(({ revision }) => revision > after);
    let next = 0;
    return frames.flatMap((frame) => {
      if (frame.type !== 'BOOKMARK') {
        told.add(frame.state.revision);
        return [];
      }
      const from = next;
      while ((covered[next]?.revision ?? Infinity) <= frame.revision) next += 1;
      return covered
        .slice(from, next)
        .filter(({ revision }) => !told.has(revision))
        .map(({ text }) => `${watcher} got bookmark ${frame.revision} before ${text}`);
    });
  });
}

/** Calls `check` for each connection, with the changes that its watcher should receive, sorted by revision. */
function eachStream(
  history: History,
  check: (watch: Watch, stream: Stream, changes: readonly Change[]) => string[],
): string[] {
  const changes = distinctChangesOf(history);
  return history.watches.flatMap((watch) => {
    const concerned = changes.filter(({ key }) => watch.key === undefined || watch.key === key);
    return watch.streams.flatMap((stream) => check(watch, stream, concerned));
  });
}

function revisionsOf(streams: readonly Stream[]): number[] {
  return streams
    .flatMap(({ frames }) => frames)
    .filter((frame): frame is Event => frame.type !== 'BOOKMARK')
    .map(({ state }) => state.revision);
}

/**
 * Returns the first and the last of the revisions. Without revisions, returns an empty range, so that no revision is
 * before or within it.
 */
function spanOf(revisions: readonly number[]): { first: number; last: number } {
  const sorted = revisions.toSorted((a, b) => a - b);
  return { first: sorted[0] ?? -Infinity, last: sorted.at(-1) ?? -Infinity };
}
