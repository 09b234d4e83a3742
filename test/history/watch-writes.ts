// The relation between the events of watchers and the requests of clients. Each check returns the violations of its
// guarantee.
import type { Event, History, Operation, Watch } from './history.ts';
import { eventsOf } from './sightings.ts';

/** No event reports a write before a client has requested it. */
export function findFutureEvent(history: History): string[] {
  const writes = new Writes(history.operations);
  return eachEvent(history, ({ watcher }, event) => {
    const calls = writes.causesOf(event).map(({ call }) => call);
    if (calls.length === 0 || calls.some((call) => call < event.at)) return [];
    return [`${watcher} was told ${textOf(event)} at ${event.at}, and it was asked for at ${calls.join()}`];
  });
}

/** Every event comes from a client's request that was not refused. */
export function findUnwrittenEvent(history: History): string[] {
  const writes = new Writes(history.operations);
  return eachEvent(history, ({ watcher }, event) =>
    writes.causesOf(event).length > 0 ? [] : [`${watcher} was told ${textOf(event)}, which no client wrote`],
  );
}

/** Every watcher receives every acknowledged write that happened while it watched. */
export function findUntoldWrite({ operations, watches }: History): string[] {
  return watches.flatMap((watch) => {
    const events = watch.streams.flatMap(eventsOf);
    const last = watch.end === 'open' ? Infinity : Math.max(0, ...events.slice(-1).map(({ state }) => state.revision));
    const told = new Set(
      events.flatMap(({ type, state }) => [state.revision, ...(type === 'DELETED' ? [state.uid] : [])]),
    );
    return operations
      .filter((operation) => {
        const due = dueEvent(operation, watch, last);
        return due !== undefined && !told.has(due);
      })
      .map(({ client, key, request, answer }) => {
        const what = answer.kind === 'state' ? `, revision ${answer.state.revision}` : '';
        return `${watch.watcher} was not told of the ${request.verb} of ${key} by ${client}${what}`;
      });
  });
}

/** Returns what the watcher must have received: a revision, or the uid of the deleted object. */
function dueEvent({ key, request, answer, call }: Operation, watch: Watch, last: number): number | string | undefined {
  if (watch.key !== undefined && watch.key !== key) return undefined;
  // No response has the revision of a deletion, so only its time shows that it came after the list, and before the end.
  if (answer.kind === 'deleted') return call > watch.since && watch.end === 'open' ? answer.uid : undefined;
  if (answer.kind !== 'state' || (request.verb !== 'create' && request.verb !== 'update')) return undefined;
  const { revision } = answer.state;
  return revision > watch.after && revision <= last ? revision : undefined;
}

function eachEvent(history: History, check: (watch: Watch, event: Event) => string[]): string[] {
  return history.watches.flatMap((watch) => watch.streams.flatMap(eventsOf).flatMap((event) => check(watch, event)));
}

function textOf({ type, key, state }: Event): string {
  return `${type} ${key} ${state.value}, revision ${state.revision}`;
}

/** The writes of a history that were not refused. */
class Writes {
  readonly #byValue = new Map<string, Operation>();
  readonly #deletions = new Map<string, Operation[]>();

  constructor(operations: readonly Operation[]) {
    for (const operation of operations) {
      const { key, request, answer } = operation;
      if (answer.kind !== 'state' && answer.kind !== 'deleted' && answer.kind !== 'unknown') continue;
      if (request.verb === 'create' || request.verb === 'update') this.#byValue.set(request.value, operation);
      if (request.verb === 'delete') this.#deletions.set(key, [...(this.#deletions.get(key) ?? []), operation]);
    }
  }

  /** The operations that may have caused the event. */
  causesOf({ type, key, state }: Event): readonly Operation[] {
    const write = this.#byValue.get(state.value);
    if (write?.key !== key) return [];
    if (type === 'DELETED') {
      const deletions = this.#deletions.get(key) ?? [];
      return deletions.filter(({ answer }) => answer.kind !== 'deleted' || answer.uid === state.uid);
    }
    const isVerb = write.request.verb === (type === 'ADDED' ? 'create' : 'update');
    const { answer } = write;
    const isAnswer =
      answer.kind !== 'state' || (answer.state.revision === state.revision && answer.state.uid === state.uid);
    return isVerb && isAnswer ? [write] : [];
  }
}
