import { formatKey, keyOf } from '../api/index.ts';
import type { ApiObject } from '../api/index.ts';

/**
 * What waits to be told to a handler. `synced` is told to nobody: it marks the end of the initial objects. `key` is the
 * object's, for events whose objects are costly to read (an accessor may parse them when they are delivered).
 */
export type HandlerEvent<T extends ApiObject> =
  | { readonly kind: 'add'; readonly key?: string; readonly object: T; readonly initial: boolean }
  | { readonly kind: 'update'; readonly key?: string; readonly previous: T; readonly object: T }
  | { readonly kind: 'delete'; readonly key?: string; readonly object: T }
  | { readonly kind: 'synced' };

/**
 * The same changes with the steps in between left out: at most two events an object, each object at the place of its
 * first event. For a handler so far behind that all steps would not fit into memory; what it knows in the end is the same.
 */
export function coalesce<T extends ApiObject>(events: readonly HandlerEvent<T>[]): HandlerEvent<T>[] {
  const spans = new Map<string, { readonly first: HandlerEvent<T>; last: HandlerEvent<T> }>();
  for (const [index, event] of events.entries()) {
    // A key begins with no space: markers are never merged.
    const key = event.kind === 'synced' ? ` ${index}` : (event.key ?? formatKey(keyOf(event.object)));
    const span = spans.get(key);
    if (span === undefined) spans.set(key, { first: event, last: event });
    else span.last = event;
  }
  return [...spans.values()].flatMap(({ first, last }) => (first === last ? [first] : netChange(first, last)));
}

function netChange<T extends ApiObject>(first: HandlerEvent<T>, last: HandlerEvent<T>): HandlerEvent<T>[] {
  const before = stateBefore(first);
  const after = last.kind === 'add' || last.kind === 'update' ? last.object : undefined;
  if (before === undefined)
    return after === undefined ? [] : [{ kind: 'add', object: after, initial: isInitial(first) }];
  const same = (other: T): boolean => other.metadata.uid === before.metadata.uid;
  if (after !== undefined && same(after)) return [{ kind: 'update', previous: before, object: after }];
  const deleted = last.kind === 'delete' && same(last.object) ? last.object : before;
  const deletion: HandlerEvent<T> = { kind: 'delete', object: deleted };
  return after === undefined ? [deletion] : [deletion, { kind: 'add', object: after, initial: false }];
}

function stateBefore<T extends ApiObject>(event: HandlerEvent<T>): T | undefined {
  if (event.kind === 'update') return event.previous;
  return event.kind === 'delete' ? event.object : undefined;
}

function isInitial<T extends ApiObject>(event: HandlerEvent<T>): boolean {
  return event.kind === 'add' && event.initial;
}
