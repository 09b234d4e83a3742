import type { SequentialModel } from './linearizability.ts';
import type { Expectation, ObjectState, Operation } from './history.ts';

/**
 * The state of an object as far as clients know it. The value of a write without a response is unknown until a client
 * has read it.
 */
interface KnownObject {
  readonly uid: string | undefined;
  readonly revision: number | undefined;
  readonly version: number;
  readonly value: string | undefined;
}

export interface KeyState {
  /**
   * The highest revision that the object is known to have had. It is kept when the object is deleted: if the object is
   * created again, its revision must be higher.
   */
  readonly revision: number;
  /** Undefined when the object is absent. */
  readonly object: KnownObject | undefined;
}

/** The behaviour of one object, which is absent at first. */
export const objectModel: SequentialModel<KeyState, Operation> = {
  initial: { revision: 0, object: undefined },
  step,
  formatState: ({ revision, object }) =>
    `${revision} ${object === undefined ? 'absent' : [object.uid, object.revision, object.version, object.value].join()}`,
  // The effect does not contain the written value. When a client has read the value of a write, the outcome of the
  // write is known. So two writes with unknown outcomes are interchangeable, even if they write different values.
  effectOf: ({ request }) => `${request.verb} ${'expect' in request ? JSON.stringify(request.expect) : ''}`,
};

function step(state: KeyState, operation: Operation): KeyState | undefined {
  const { request, answer } = operation;
  const { object } = state;
  switch (answer.kind) {
    case 'notFound':
      return object === undefined ? state : undefined;
    case 'exists':
      return object === undefined ? undefined : state;
    case 'conflict':
      return isConflict(request, object) ? state : undefined;
    case 'deleted':
      if (!meets(object, request) || !isSame(object.uid, answer.uid)) return undefined;
      return { revision: state.revision, object: undefined };
    case 'state':
      return afterState(state, operation, answer.state);
    case 'unknown':
      return afterUnknown(state, request);
  }
}

function isConflict(request: Operation['request'], object: KnownObject | undefined): boolean {
  if (object === undefined || !('expect' in request)) return false;
  // The server responds with a conflict even to a write without a precondition when other writes were faster at each of
  // its attempts. Such a conflict says nothing about the state of the object.
  return Object.keys(request.expect).length === 0 || !meets(object, request);
}

function afterState(state: KeyState, { request }: Operation, shown: ObjectState): KeyState | undefined {
  const { object } = state;
  const next: KeyState = { revision: shown.revision, object: shown };
  const isLater = shown.revision > state.revision;
  switch (request.verb) {
    case 'get':
      return object !== undefined && isShown(object, shown) ? state : undefined;
    case 'touch':
      return meets(object, request) && isShown(object, shown) ? state : undefined;
    case 'create':
      return object === undefined && isLater && shown.version === 1 && shown.value === request.value ? next : undefined;
    case 'update':
      if (!meets(object, request) || !isLater || shown.value !== request.value) return undefined;
      return shown.version === object.version + 1 && isSame(object.uid, shown.uid) ? next : undefined;
    case 'delete':
      return undefined;
  }
}

/**
 * Returns the state after a write without a response; undefined if the write has no effect in this state, so that it
 * counts as never sent.
 */
function afterUnknown(state: KeyState, request: Operation['request']): KeyState | undefined {
  const { revision, object } = state;
  const unseen = { revision: undefined, value: undefined };
  switch (request.verb) {
    case 'create':
      return object === undefined ? { revision, object: { uid: undefined, version: 1, ...unseen } } : undefined;
    case 'update':
      if (!meets(object, request)) return undefined;
      return { revision, object: { uid: object.uid, version: object.version + 1, ...unseen } };
    case 'delete':
      return meets(object, request) ? { revision, object: undefined } : undefined;
    case 'get':
    case 'touch':
      return undefined;
  }
}

function meets(object: KnownObject | undefined, request: Operation['request']): object is KnownObject {
  if (object === undefined) return false;
  const { uid, revision, version }: Expectation = 'expect' in request ? request.expect : {};
  return (
    // `object.uid` or `object.revision` is undefined until a client has read it. No client can send an unread value as
    // a precondition, so until then, a precondition on this field is not met.
    (uid === undefined || uid === object.uid) &&
    (revision === undefined || revision === object.revision) &&
    (version === undefined || version === object.version)
  );
}

/** Compares uids. An object whose creation got no response may have any uid. */
function isSame(known: string | undefined, uid: string): boolean {
  return known === undefined || known === uid;
}

function isShown(object: KnownObject, shown: ObjectState): boolean {
  return (
    object.revision === shown.revision &&
    object.version === shown.version &&
    object.value === shown.value &&
    isSame(object.uid, shown.uid)
  );
}
