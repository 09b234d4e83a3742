import type { ApiObject } from '../api/index.ts';

/** An object and its key. `object` may be a getter that parses the object. */
export interface KeyedObject<T extends ApiObject> {
  readonly key: string;
  readonly object: T;
}

/**
 * An event that waits for a handler. No handler receives `synced`, which marks the end of the initial objects. An
 * object is read only when its event is delivered or combined with another one, because many events may wait, and each
 * object may have to be parsed.
 */
export type HandlerEvent<T extends ApiObject> = ObjectEvent<T> | { readonly kind: 'synced' };

/** A change of one object. */
export type ObjectEvent<T extends ApiObject> =
  | { readonly kind: 'add'; readonly key: string; readonly object: T; readonly initial: boolean }
  | { readonly kind: 'update'; readonly key: string; readonly previous: T; readonly object: T }
  | { readonly kind: 'delete'; readonly key: string; readonly object: T };

/** Returns the event that reports an added object, or an initial one. */
export function additionOf<T extends ApiObject>(
  state: KeyedObject<T>,
  { initial }: { readonly initial: boolean },
): ObjectEvent<T> {
  return {
    kind: 'add',
    key: state.key,
    initial,
    get object() {
      return state.object;
    },
  };
}

/** Returns the event for an object that was changed. */
export function updateOf<T extends ApiObject>(previous: KeyedObject<T>, state: KeyedObject<T>): ObjectEvent<T> {
  return {
    kind: 'update',
    key: state.key,
    get previous() {
      return previous.object;
    },
    get object() {
      return state.object;
    },
  };
}

/** Returns the event for an object that was deleted. */
export function deletionOf<T extends ApiObject>(last: KeyedObject<T>): ObjectEvent<T> {
  return {
    kind: 'delete',
    key: last.key,
    get object() {
      return last.object;
    },
  };
}

/**
 * Combines events: returns at most two events for each object, at the position of the object's first event. It is for a
 * handler that is so far behind that its waiting events would not fit into memory. After the combined events, the
 * handler has the same state as after all events. If the object's state before its first event or after its last event
 * cannot be read, the first and the last event remain.
 */
export function coalesce<T extends ApiObject>(events: readonly HandlerEvent<T>[]): HandlerEvent<T>[] {
  const spans = new Map<string, Span<T>>();
  for (const [index, event] of events.entries()) {
    // No object's key begins with a space, so the key of a `synced` marker is unique, and markers are never merged.
    const key = event.kind === 'synced' ? ` ${index}` : event.key;
    const span = spans.get(key);
    if (span === undefined) spans.set(key, { first: event, last: event });
    else span.last = event;
  }
  return [...spans.values()].flatMap(({ first, last }) =>
    first === last || first.kind === 'synced' || last.kind === 'synced' ? [first] : netChangeOrBoth(first, last),
  );
}

interface Span<T extends ApiObject> {
  readonly first: HandlerEvent<T>;
  last: HandlerEvent<T>;
}

function netChangeOrBoth<T extends ApiObject>(first: ObjectEvent<T>, last: ObjectEvent<T>): ObjectEvent<T>[] {
  try {
    return netChange(first, last);
  } catch {
    // The state before or after the events cannot be read, so the first and the last event remain. Their delivery
    // reports the error.
    return [first, last];
  }
}

function netChange<T extends ApiObject>(first: ObjectEvent<T>, last: ObjectEvent<T>): ObjectEvent<T>[] {
  const { key } = first;
  const before = stateBefore(first);
  const after = last.kind === 'delete' ? undefined : last.object;
  if (before === undefined)
    return after === undefined ? [] : [{ kind: 'add', key, object: after, initial: isInitial(first) }];
  const same = (other: T): boolean => other.metadata.uid === before.metadata.uid;
  if (after !== undefined && same(after)) return [{ kind: 'update', key, previous: before, object: after }];
  const deleted = last.kind === 'delete' && same(last.object) ? last.object : before;
  const deletion: ObjectEvent<T> = { kind: 'delete', key, object: deleted };
  return after === undefined ? [deletion] : [deletion, { kind: 'add', key, object: after, initial: false }];
}

function stateBefore<T extends ApiObject>(event: ObjectEvent<T>): T | undefined {
  if (event.kind === 'update') return event.previous;
  return event.kind === 'delete' ? event.object : undefined;
}

function isInitial<T extends ApiObject>(event: ObjectEvent<T>): boolean {
  return event.kind === 'add' && event.initial;
}
