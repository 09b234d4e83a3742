import type { RecordedChange } from './recorded-change.ts';

/** A change of an object, from the change log of the server. */
export interface HistoryEntry {
  readonly resourceVersion: string;
  readonly verb: 'create' | 'update' | 'delete';
  /** The time of the change in whole seconds, if the object itself contains it. */
  readonly time?: string;
  /** The field manager that made the change, if managedFields show it. */
  readonly manager?: string;
  /**
   * The user who made the change. The process that responds knows it for its own last 16,384 writes since its start;
   * for other changes it is absent.
   */
  readonly user?: string;
  /** The generation after the change. */
  readonly generation?: number;
  /** The uid of the object: an entry with a different uid is about another object that had the same name. */
  readonly uid?: string;
  /** The changed fields, at most 50. */
  readonly changes?: readonly RecordedChange[];
  /** The number of changed fields that are left out. */
  readonly omittedChanges?: number;
  /** True when the stored object cannot be read. */
  readonly unreadable?: boolean;
}

/** The response to `GET …/<name>/history`: the newest change first. */
export interface ObjectHistoryList {
  readonly apiVersion: 'controllers.homeostat.internal/v1alpha1';
  readonly kind: 'ObjectHistory';
  readonly metadata: {
    /** The text that a client sends as `continue` to get older changes; absent when there are none. */
    readonly continue?: string;
  };
  /** Changes up to this revision have left the log. */
  readonly compactedRevision: string;
  readonly items: readonly HistoryEntry[];
}
