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

/** The effect of a write on an object's managed fields. */
export interface FieldManagement {
  /** True when the write starts from the stored entries. */
  keepsEntries(stored: ApiObject): boolean;
  /** The entries that the write otherwise starts from: those in the request, or undefined if it has none. */
  entries(stored: ApiObject): Steps<ManagedFields | undefined>;
  /** The entries when the write changes the object, which hooks may have modified. */
  afterChange(
    entries: ManagedFields | undefined,
    states: States & { readonly proposed: ApiObject },
  ): Steps<ManagedFields | undefined>;
}

/** The entries of an apply whose result was modified by hooks. */
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
 * Field management of an update or a patch. The write may edit the entries themselves, as kubectl does when it turns a
 * client-side apply into a server-side one. Clients that do not know managedFields send no entries, or an empty list;
 * then the stored entries are kept. An object without entries (cleared, or older than this feature) has none until its
 * first apply.
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

/** The field manager of a write, as the entries name it. */
export function managerOf(rules: Rules, request: WriteRequest, operation: Manager['operation']): Manager {
  const { fieldManager: manager, subresource } = request;
  return { manager, operation, apiVersion: apiVersionOf(rules.model), subresource };
}
