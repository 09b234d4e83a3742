import type { RecordedChange } from './recorded-change.ts';

/** A change of an object, from the change log of the server. */
export interface HistoryEntry {
  readonly resourceVersion: string;
  readonly verb: 'create' | 'update' | 'delete';
  /** Whole seconds, from the object; absent when the object does not have it. */
  readonly time?: string;
  /** The field manager, when managedFields show it. */
  readonly manager?: string;
  /** The user, for the last 16,384 writes of the process that responds, since its start. */
  readonly user?: string;
  /** The generation after the change. */
  readonly generation?: number;
  /** A different uid belongs to another object that had the same name. */
  readonly uid?: string;
  /** The changed fields, at most 50. */
  readonly changes?: readonly RecordedChange[];
  /** Changed fields that are left out. */
  readonly omittedChanges?: number;
  /** True when the stored object cannot be read. */
  readonly unreadable?: boolean;
}

/** The response to `GET …/<name>/history`: the newest change first. */
export interface ObjectHistoryList {
  readonly apiVersion: 'controllers.homeostat.internal/v1alpha1';
  readonly kind: 'ObjectHistory';
  readonly metadata: {
    /** Sent as `continue`, it returns older changes; absent at the end. */
    readonly continue?: string;
  };
  /** Changes up to this revision have left the log. */
  readonly compactedRevision: string;
  readonly items: readonly HistoryEntry[];
}
