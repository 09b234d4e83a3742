// Checks of the relation between events of watchers and requests of clients. Each check returns the violations of its
// guarantee.
import type { Event, History, Operation, Watch } from './history.ts';
import { eventsOf } from './sightings.ts';

/** Checks that no event reports a write before a client has requested it. */
export function findFutureEvent(history: History): string[] {
  const writes = new Writes(history.operations);
  return eachEvent(history, ({ watcher }, event) => {
    const calls = writes.causesOf(event).map(({ call }) => call);
    if (calls.length === 0 || calls.some((call) => call < event.at)) return [];
    return [`${watcher} received ${textOf(event)} at ${event.at}, before a client sent the write, at ${calls.join()}`];
  });
}

/** Checks that every event comes from a client's request that was not refused. */
export function findUnwrittenEvent(history: History): string[] {
  const writes = new Writes(history.operations);
  return eachEvent(history, ({ watcher }, event) =>
    writes.causesOf(event).length > 0 ? [] : [`${watcher} received ${textOf(event)}, which no client wrote`],
  );
}

/** Checks that every watcher receives all acknowledged writes that happened during its watch. */
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
        return `${watch.watcher} did not receive the ${request.verb} of ${key} by ${client}${what}`;
      });
  });
}

/**
 * Returns the event that the watcher must have received: its revision, or the uid of the deleted object. Returns
 * undefined when no event is required.
 */
function dueEvent({ key, request, answer, call }: Operation, watch: Watch, last: number): number | string | undefined {
  if (watch.key !== undefined && watch.key !== key) return undefined;
  // The response of a deletion has no revision, so only the times show whether it happened during the watch.
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

/** The writes in a history that were not refused. */
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

  /** Returns the operations that may have caused an event. */
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
