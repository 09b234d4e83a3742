// The types of a recorded run, which clients, watchers and checkers share.

/** An object in a response or an event. Each write stores a new value, so that a value identifies its write. */
export interface ObjectState {
  readonly uid: string;
  /** `metadata.resourceVersion`. */
  readonly revision: number;
  /** `metadata.version`. */
  readonly version: number;
  readonly value: string;
}

/** The preconditions of a write. The stored object must meet all that are given. */
export interface Expectation {
  readonly uid?: string;
  readonly revision?: number;
  readonly version?: number;
}

export type Request =
  | { readonly verb: 'create'; readonly value: string }
  | { readonly verb: 'update'; readonly value: string; readonly expect: Expectation }
  /** A write of the value that the client saw last; it changes nothing if this is still the present value. */
  | { readonly verb: 'touch'; readonly value: string; readonly expect: Expectation }
  | { readonly verb: 'delete'; readonly expect: Expectation }
  | { readonly verb: 'get' };

export type Outcome =
  | { readonly kind: 'state'; readonly state: ObjectState }
  | { readonly kind: 'deleted'; readonly uid: string }
  | { readonly kind: 'exists' | 'conflict' | 'notFound' }
  /** A lost connection, a timeout or a 5xx: the request takes effect at any later time, or never. */
  | { readonly kind: 'unknown' };

/**
 * A moment of the run: a number that grows with each record. All clients are in one process, so this is the real
 * order of events; no two records have the same number.
 */
export type Moment = number;

/** A request to one object. */
export interface Operation {
  readonly client: string;
  /** The object's name. */
  readonly key: string;
  readonly request: Request;
  readonly answer: Outcome;
  readonly call: Moment;
  /** Infinity when the outcome is unknown. */
  readonly return: Moment;
}

/** A list with all its chunks. */
export interface Listing {
  readonly client: string;
  /** The names of the requested objects. An object without an entry in `states` did not exist at `revision`. */
  readonly keys: readonly string[];
  readonly states: ReadonlyMap<string, ObjectState>;
  /** The revision of the list. */
  readonly revision: number;
  readonly call: Moment;
  readonly return: Moment;
}

/** A line of a watch. */
export type Frame =
  | {
      readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
      readonly key: string;
      readonly state: ObjectState;
      readonly at: Moment;
    }
  | { readonly type: 'BOOKMARK'; readonly revision: number; readonly at: Moment };

export type Event = Exclude<Frame, { readonly type: 'BOOKMARK' }>;

/** One connection of a watcher. */
export interface Stream {
  /** The revision after which the watch resumed on this connection. */
  readonly after: number;
  readonly frames: readonly Frame[];
}

/** The events of a watcher after a list, over many connections, until it gets 410 and lists again. */
export interface Watch {
  readonly watcher: string;
  /** The name of the watched object; undefined for a watch of all objects. */
  readonly key: string | undefined;
  /** The revision of the list. */
  readonly after: number;
  /** The moment at which the watcher had received the list. */
  readonly since: Moment;
  readonly streams: readonly Stream[];
  /** `open`: the watch was still open when the recorded run ended. `expired`: the watch got 410. */
  readonly end: 'open' | 'expired';
}

export interface History {
  /** The names of all objects. */
  readonly keys: readonly string[];
  readonly operations: readonly Operation[];
  readonly listings: readonly Listing[];
  readonly watches: readonly Watch[];
}

export type WatchGuarantee =
  | 'ordered'
  | 'unique'
  | 'atomic'
  | 'resumable'
  | 'reliable'
  | 'bookmarkable'
  | 'no event from the future'
  | 'every event is a write'
  | 'every write is an event';

export type Guarantee = 'linearizable' | 'revisions follow time' | 'lists are of one moment' | WatchGuarantee;

/** A guarantee that a history breaks, and a message that describes the violation. */
export interface Violation {
  readonly guarantee: Guarantee;
  readonly message: string;
}
