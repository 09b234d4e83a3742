import type { RecordedChange } from './recorded-change.ts';

/** A change of an object, from the change log of the server. */
export interface HistoryEntry {
  readonly resourceVersion: string;
  readonly verb: 'create' | 'update' | 'delete';
  /** The time of the change in whole seconds; absent when the stored object does not contain it. */
  readonly time?: string;
  /** The field manager that made the change; absent when managedFields do not show it. */
  readonly manager?: string;
  /**
   * The user who made the change. A server process remembers the users of its own last 16,384 writes since its start;
   * for all other changes, this field is absent from its responses.
   */
  readonly user?: string;
  /** The generation after the change. */
  readonly generation?: number;
  /** The uid of the changed object. An earlier object of the same name had a different uid. */
  readonly uid?: string;
  /** The changed fields, at most 50; empty for a deletion. */
  readonly changes?: readonly RecordedChange[];
  /** The number of changed fields that are left out. */
  readonly omittedChanges?: number;
  /** True when the server cannot read the state of the object before or after the change. */
  readonly unreadable?: boolean;
}

/** The response to `GET …/<name>/history`: the newest change first. */
export interface ObjectHistoryList {
  readonly apiVersion: 'controllers.homeostat.internal/v1alpha1';
  readonly kind: 'ObjectHistory';
  readonly metadata: {
    /** The text that a client sends as `continue` to get older changes; absent when there are no older ones. */
    readonly continue?: string;
  };
  /** The log no longer has the changes up to this revision. */
  readonly compactedRevision: string;
  readonly items: readonly HistoryEntry[];
}
