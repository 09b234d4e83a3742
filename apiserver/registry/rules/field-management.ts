import { apiVersionOf, deepEqual } from '@homeostat/controller-runtime/api';
import type { ApiObject } from '@homeostat/controller-runtime/api';
import type { ChangesIn, ManagedFields, Manager } from '../../apply/managed-fields.ts';
import { isReset, readManagedFields } from '../../apply/read-managed-fields.ts';
import { trackAdmitted, trackUpdate } from '../../apply/managed-fields.ts';
import type { TrackedWrite } from '../../apply/managed-fields.ts';
import { oneStep } from '../../turns/steps.ts';
import type { Steps } from '../../turns/steps.ts';
import { invalid } from '../object/resource-errors.ts';
import type { States } from '../object/states.ts';
import { formatTime } from '../object/object-codec.ts';
import type { ObjectDraft, Rules, WriteRequest } from './write-request.ts';

/** The effect of a write on an object's managedFields, whose items are called entries. */
export interface FieldManagement {
  /** True: the write computes the new managedFields from the stored ones. False: from those in the request. */
  keepsEntries(stored: ApiObject): boolean;
  /**
   * Called when {@link keepsEntries} returns false. Returns the entries in the request, from which the new ones are
   * computed; undefined if the request clears the entries.
   */
  entries(stored: ApiObject): Steps<ManagedFields | undefined>;
  /** Returns the managedFields after a write that changes the object. Hooks may have modified the proposed object. */
  afterChange(
    entries: ManagedFields | undefined,
    states: States & { readonly proposed: ApiObject },
  ): Steps<ManagedFields | undefined>;
}

/** Returns the entries of managedFields after an apply. Hooks may have modified the object that the apply proposed. */
export function* admittedFields(
  rules: Rules,
  entries: ManagedFields,
  { states, request }: { readonly states: States; readonly request: WriteRequest },
): Steps<ManagedFields> {
  if (states.before === states.after) return entries;
  const by = managerOf(rules, request, 'Apply');
  return yield* trackAdmitted(entries, states, { by, ...trackingOf(rules, states, request) });
}

/**
 * Returns the effect of an update or a patch on managedFields. The write may contain changed entries, as when kubectl
 * turns a client-side apply into a server-side one. A client that does not know managedFields sends no entries or an
 * empty list; then the stored entries are kept. An object without entries (because they were cleared, or the object is
 * older than this feature) gets none before its first apply.
 */
export function fieldManagement(rules: Rules, draft: ObjectDraft, request: WriteRequest): FieldManagement {
  const sent = request.subresource === undefined ? draft.metadata.managedFields : undefined;
  return {
    keepsEntries: ({ metadata: { managedFields } }) =>
      sent === undefined || sent.length === 0 || deepEqual(sent, managedFields),
    *entries({ metadata: { name } }) {
      if (sent === undefined || isReset(sent)) return undefined;
      const read = yield* readManagedFields(sent, formatTime);
      if (read.causes.length > 0) throw invalid(rules.model, name, read.causes);
      return read.managedFields;
    },
    afterChange(entries, states) {
      if (entries === undefined || entries.length === 0) return oneStep(() => entries);
      const by = managerOf(rules, request, 'Update');
      return trackUpdate(entries, states, { by, ...trackingOf(rules, states, request) });
    },
  };
}

function trackingOf(rules: Rules, states: States, { now, isLong }: WriteRequest): Omit<TrackedWrite, 'by'> {
  const changesIn: ChangesIn = function* changesIn(apiVersion) {
    const changes = rules.changesIn?.(apiVersion, states);
    return changes === undefined ? undefined : yield* changes;
  };
  return { shape: rules.schema.shape, now, isLong, changesIn };
}

/** Returns the name of the field manager of a write, and the operation, version and subresource of the write. */
export function managerOf(rules: Rules, request: WriteRequest, operation: Manager['operation']): Manager {
  const { fieldManager: manager, subresource } = request;
  return { manager, operation, apiVersion: apiVersionOf(rules.model), subresource };
}
