// The guarantees of a watch, as in etcd (https://etcd.io/docs/v3.6/learning/api_guarantees/#watch-apis), where a
// revision is one change of one object. Each check returns the violations of its guarantee.
import { changesOf, distinctChangesOf } from './change-log.ts';
import type { Change } from './change-log.ts';
import type { Event, History, Stream, Watch } from './history.ts';

/** A watcher never receives an earlier change after a later one, over all of its connections. */
export function findDisorder({ watches }: History): string[] {
  return watches.flatMap((watch) => {
    const revisions = revisionsOf(watch.streams);
    return revisions.flatMap((revision, at) => {
      const before = revisions[at - 1] ?? 0;
      return revision < before ? [`${watch.watcher} was told ${revision} after ${before}`] : [];
    });
  });
}

/** A watcher receives each change once, over all its connections. */
export function findRepetition({ watches }: History): string[] {
  return watches.flatMap((watch) => {
    const told = new Set<number>();
    return revisionsOf(watch.streams).flatMap((revision) => {
      if (told.has(revision)) return [`${watch.watcher} was told ${revision} again`];
      told.add(revision);
      return [];
    });
  });
}

/** A revision is one change: every response and event of every replica shows the whole of it. */
export function findHalfChange(history: History): string[] {
  const first = new Map<number, Change>();
  return changesOf(history).flatMap((change) => {
    const known = first.get(change.revision) ?? change;
    first.set(change.revision, known);
    return known.text === change.text ? [] : [`${known.by} saw ${known.text}, ${change.by} saw ${change.text}`];
  });
}

/** A connection that resumes after a revision begins with the first change after it. */
export function findBadResumption(history: History): string[] {
  return eachStream(history, ({ watcher }, stream, changes) => {
    const { after } = stream;
    const revisions = revisionsOf([stream]);
    const { first } = spanOf(revisions);
    const old = revisions.filter((revision) => revision <= after);
    const missed = changes.filter(({ revision }) => revision > after && revision < first);
    return [
      ...old.map((revision) => `${watcher} resumed after ${after} and was told ${revision}`),
      ...missed.map(({ text }) => `${watcher} resumed after ${after}, was told ${first}, but not ${text}`),
    ];
  });
}

/** Between two events of a connection no change is left out. */
export function findGap(history: History): string[] {
  return eachStream(history, ({ watcher }, stream, changes) => {
    const told = new Set(revisionsOf([stream]));
    const { first, last } = spanOf([...told]);
    return changes
      .filter(({ revision }) => revision > first && revision < last && !told.has(revision))
      .map(({ text }) => `${watcher} was told ${first} and ${last}, but not ${text}`);
  });
}

/** Before a bookmark comes everything up to its revision. */
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

/** Calls with each connection, and the changes that concern its watcher, by revision. */
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

/** Returns the span of these revisions. Without revisions it is empty, and no revision lies before or within it. */
function spanOf(revisions: readonly number[]): { first: number; last: number } {
  const sorted = revisions.toSorted((a, b) => a - b);
  return { first: sorted[0] ?? -Infinity, last: sorted.at(-1) ?? -Infinity };
}
