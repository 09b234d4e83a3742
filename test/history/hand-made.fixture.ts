import type { Outcome, Event, Frame, History, Listing, ObjectState, Operation, Request, Watch } from './history.ts';

/** The name of the object in hand-made histories. */
export const key = 'a';

/** Returns a state of the object `a`. The field `value` is `v<revision>`, unless `fields` sets it. */
export function state(revision: number, fields: Partial<ObjectState> = {}): ObjectState {
  return { uid: 'u1', revision, version: 1, value: `v${revision}`, ...fields };
}

export function shown(object: ObjectState): Outcome {
  return { kind: 'state', state: object };
}

/** Returns an operation on the object named `a`: the client sent the request at `call`, and got the answer at `end`. */
export function operation(
  [call, end]: readonly [call: number, end: number],
  request: Request,
  answer: Outcome,
): Operation {
  return { client: 'client', key, request, answer, call, return: end };
}

/** Returns an acknowledged creation; by default, it has revision 1 and value v1. */
export function created(call: number, end: number, object: ObjectState = state(1)): Operation {
  return operation([call, end], { verb: 'create', value: object.value }, shown(object));
}

/** Returns an acknowledged update without preconditions. */
export function updated(call: number, end: number, object: ObjectState): Operation {
  return operation([call, end], { verb: 'update', value: object.value, expect: {} }, shown(object));
}

/** Returns a write with an unknown outcome. */
export function lost(call: number, request: Request): Operation {
  return operation([call, Infinity], request, { kind: 'unknown' });
}

export function read(call: number, end: number, object: ObjectState | undefined): Operation {
  return operation([call, end], { verb: 'get' }, object === undefined ? { kind: 'notFound' } : shown(object));
}

export function event(type: Event['type'], object: ObjectState, at: number): Frame {
  return { type, key, state: object, at };
}

/**
 * Returns a watch from the beginning to the end of the history, with one stream for each connection of the watcher.
 */
export function watch(streams: readonly Watch['streams'][number][], fields: Partial<Watch> = {}): Watch {
  return { watcher: 'watcher', key: undefined, after: 0, since: 0, streams, end: 'open', ...fields };
}

export function history(parts: {
  readonly operations?: readonly Operation[];
  readonly listings?: readonly Listing[];
  readonly watches?: readonly Watch[];
}): History {
  return { keys: [key], operations: [], listings: [], watches: [], ...parts };
}
