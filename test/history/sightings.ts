import type { Event, History, Moment, ObjectState, Operation } from './history.ts';

/** A state that a client received in a response, a list or an event. */
export interface Sighting {
  readonly key: string;
  readonly state: ObjectState;
  /** True for a deletion; `state` then has the object's last value and the revision of the deletion. */
  readonly isDeletion: boolean;
  readonly at: Moment;
  readonly by: string;
}

export function sightingsOf(history: History): Sighting[] {
  const answers = history.operations.flatMap(({ client, key, answer, return: at }) =>
    answer.kind === 'state' ? [{ key, state: answer.state, isDeletion: false, at, by: client }] : [],
  );
  const lists = history.listings.flatMap(({ client, states, return: at }) =>
    [...states].map(([key, state]) => ({ key, state, isDeletion: false, at, by: client })),
  );
  const events = history.watches.flatMap(({ watcher, streams }) =>
    streams.flatMap(eventsOf).map(({ type, key, state, at }) => {
      return { key, state, isDeletion: type === 'DELETED', at, by: watcher };
    }),
  );
  return [...answers, ...lists, ...events];
}

export function eventsOf({
  frames,
}: {
  readonly frames: History['watches'][number]['streams'][number]['frames'];
}): Event[] {
  return frames.filter((frame): frame is Event => frame.type !== 'BOOKMARK');
}

/**
 * Returns the operations; each list becomes a read of every requested object. When a client saw the value of a write
 * with an unknown outcome, the write has taken effect by that time, so its outcome is known. Operations without
 * information (a read or a touch without a response) are left out.
 */
export function knownOperations(history: History): Operation[] {
  const seen = new Map<string, Sighting>();
  for (const sighting of sightingsOf(history)) {
    const first = seen.get(sighting.state.value);
    if (!sighting.isDeletion && (first === undefined || sighting.at < first.at))
      seen.set(sighting.state.value, sighting);
  }
  const operations = history.operations.flatMap((operation) => known(operation, seen));
  return [...operations, ...history.listings.flatMap(readsOf)];
}

function known(operation: Operation, seen: ReadonlyMap<string, Sighting>): Operation[] {
  const { request, answer } = operation;
  if (answer.kind !== 'unknown') return [operation];
  if (request.verb === 'get' || request.verb === 'touch') return [];
  const sighting = request.verb === 'delete' ? undefined : seen.get(request.value);
  // If a client saw the value before the write was sent, another check reports this. Here, the outcome stays unknown.
  if (sighting === undefined || sighting.at < operation.call) return [operation];
  return [{ ...operation, answer: { kind: 'state', state: sighting.state }, return: sighting.at }];
}

function readsOf({ client, keys, states, call, return: end }: History['listings'][number]): Operation[] {
  return keys.map((key) => {
    const state = states.get(key);
    const answer: Operation['answer'] = state === undefined ? { kind: 'notFound' } : { kind: 'state', state };
    return { client, key, request: { verb: 'get' }, answer, call, return: end };
  });
}
