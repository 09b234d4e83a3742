import type { History, Moment, Violation } from './history.ts';
import { knownOperations, sightingsOf } from './sightings.ts';

/** A revision that a client saw at the moment `at`, or the revision of a write or list that began at this moment. */
interface Mark {
  readonly at: Moment;
  readonly revision: number;
  readonly what: string;
  /**
   * `seen`: a client saw the revision. `later`: the revision must be above all revisions that were seen before.
   * `notEarlier`: the revision must not be below any of them.
   */
  readonly role: 'seen' | 'later' | 'notEarlier';
}

/**
 * Checks that revisions follow time, because a database has one counter for all objects. A write that begins after a
 * client saw a revision must get a higher revision, and a list that begins later must not have a lower revision.
 */
export function checkRevisionOrder(history: History): Violation[] {
  const violations: Violation[] = [];
  let highest: Mark = { at: 0, revision: 0, what: 'the beginning', role: 'seen' };
  for (const mark of marksOf(history).sort((a, b) => a.at - b.at)) {
    const { role, revision } = mark;
    if (role === 'seen') {
      if (revision > highest.revision) highest = mark;
      continue;
    }
    if (revision > highest.revision || (role === 'notEarlier' && revision === highest.revision)) continue;
    const message = `${mark.what} began at ${mark.at} and got revision ${revision}, but ${highest.what} had shown ${highest.revision} at ${highest.at}`;
    violations.push({ guarantee: 'revisions follow time', message });
  }
  return violations;
}

function marksOf(history: History): Mark[] {
  return [...seenMarks(history), ...writeMarks(history), ...listMarks(history)];
}

function seenMarks(history: History): Mark[] {
  const states = sightingsOf(history).map(({ key, state, at, by }) => {
    return { at, revision: state.revision, what: `${key} as ${by} saw it`, role: 'seen' as const };
  });
  const bookmarks = history.watches.flatMap(({ watcher, streams }) =>
    streams
      .flatMap(({ frames }) => frames)
      .flatMap((frame) => (frame.type === 'BOOKMARK' ? [frame] : []))
      .map(({ at, revision }) => ({ at, revision, what: `a bookmark of ${watcher}`, role: 'seen' as const })),
  );
  return [...states, ...bookmarks];
}

function writeMarks(history: History): Mark[] {
  return knownOperations(history).flatMap(({ client, key, request, answer, call }) => {
    const isWrite = request.verb === 'create' || request.verb === 'update';
    if (!isWrite || answer.kind !== 'state') return [];
    const what = `the ${request.verb} of ${key} by ${client}`;
    return [{ at: call, revision: answer.state.revision, what, role: 'later' as const }];
  });
}

function listMarks(history: History): Mark[] {
  return history.listings.flatMap(({ client, revision, call, return: end }) => {
    const what = `a list by ${client}`;
    return [
      { at: call, revision, what, role: 'notEarlier' as const },
      { at: end, revision, what, role: 'seen' as const },
    ];
  });
}
