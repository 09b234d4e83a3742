import { isJsonObject } from '@homeostat/controller-runtime/api';
import type { ApiObject, FieldCause } from '@homeostat/controller-runtime/api';
import { applyFields, withoutContested } from '../../apply/apply-fields.ts';
import type { Applied, AppliedWrite, LiveFields } from '../../apply/apply-fields.ts';
import { applyConflict, conflictCauses } from '../../apply/conflict-error.ts';
import { contentOf } from '../../apply/fields-of.ts';
import { isEmptySet } from '../../apply/field-set.ts';
import type { Fields } from '../../apply/field-type.ts';
import { appliedFieldsOf } from '../../apply/fields-of.ts';
import { newEntry, withTime } from '../../apply/managed-fields.ts';
import type { ManagedFields } from '../../apply/managed-fields.ts';
import { checkManagersSize } from '../../apply/managers-size.ts';
import { trackCreation } from '../../apply/managed-fields.ts';
import { withoutNulls } from '../../apply/without-nulls.ts';
import { Pace } from '../../turns/pace.ts';
import type { Steps } from '../../turns/steps.ts';
import { admittedFields, managerOf } from './field-management.ts';
import { kubectl, lastAppliedFields, renewLastApplied } from './last-applied.ts';
import type { CreateProposal, UpdateProposal } from './proposal.ts';
import { readNamedDraft } from './read-draft.ts';
import { badRequest, clip, conflict } from '../object/resource-errors.ts';
import { authorFields, checkPreconditions, isEmpty, proposeCreate, proposeNext, reportUnknown } from './write-rules.ts';
import type { CreateRequest, ObjectDraft, Rules, WriteRequest } from './write-request.ts';

export interface ApplyRequest extends WriteRequest {
  /** True: the write takes over the fields that other managers own. False: such fields cause a 409. */
  readonly force: boolean;
  /**
   * When this function is given, contested fields (those with other owners) keep their values, and cause no 409. It is
   * called with these fields each time the write is decided, which may be several times.
   */
  readonly onContested: ((contested: readonly FieldCause[]) => void) | undefined;
}

/**
 * The manager that becomes the owner of all existing fields in the first apply to an object, if the object has no
 * managedFields. Kubernetes uses the same name.
 */
const formerManager = 'before-first-apply';

/**
 * Proposes the result of a server-side apply to an existing object. @throws ApiError Conflict, which names each field
 * that another manager owns
 */
export function* proposeApply(
  rules: Rules,
  stored: ApiObject,
  body: () => unknown,
  request: ApplyRequest,
): Steps<UpdateProposal> {
  const draft = yield* readApplied(rules, body, request);
  checkPreconditions(rules.model, stored, draft.metadata);
  const by = managerOf(rules, request, 'Apply');
  const content = contentOf(stored);
  const yielded = request.fieldManager === kubectl ? { yielded: yield* lastAppliedFields(rules, content) } : {};
  const live = { content, managedFields: yield* knownFields(rules, stored, request) };
  const wanted = yield* appliedContent(rules, draft, request);
  const write = {
    by,
    shape: rules.schema.shape,
    force: request.force,
    ...yielded,
    changesIn: changesOf(rules, stored),
  };
  if (request.isLong) yield;
  const applied = yield* applyUncontested(live, wanted, { write, onContested: request.onContested });
  // The apply may have removed the last owned field of metadata, and metadata with it, so metadata is added again.
  const next = { apiVersion: stored.apiVersion, kind: stored.kind, metadata: {}, ...applied.content } as ObjectDraft;
  if (request.fieldManager === kubectl) {
    const annotations = renewLastApplied(next.metadata.annotations, draft);
    next.metadata = { ...next.metadata, ...(annotations === undefined ? {} : { annotations }) };
  }
  if (request.isLong) yield;
  return yield* proposeNext(rules, stored, {
    draft: next,
    request,
    keepStatus: false,
    manage: {
      keepsEntries: () => false,
      *entries() {
        if (request.isLong) yield;
        return applied.managedFields;
      },
      *afterChange(_entries, { proposed: before, after }) {
        const entries = yield* admittedFields(rules, applied.managedFields, { states: { before, after }, request });
        return withTime(entries, by, request.now);
      },
    },
  });
}

type Merged = Extract<Applied, { readonly conflicts?: undefined }>;

/**
 * Applies the wanted fields. A wanted field is contested when another manager owns it with a different value. With
 * `onContested`, contested fields keep their values, and are reported to this function. Otherwise, they cause an error.
 * @throws ApiError Conflict
 */
function* applyUncontested(
  live: LiveFields,
  wanted: Fields,
  { write, onContested }: { readonly write: AppliedWrite; readonly onContested: ApplyRequest['onContested'] },
): Steps<Merged> {
  const full = yield* applyFields(live, wanted, write);
  const applied =
    onContested === undefined || full.conflicts === undefined
      ? full
      : yield* applyFields(live, yield* withoutContested(wanted, full.conflicts, write.shape), write);
  if (applied.conflicts !== undefined) throw applyConflict(applied.conflicts);
  onContested?.(conflictCauses(full.conflicts ?? []));
  return applied;
}

/** Proposes the creation of an object by a server-side apply. */
export function* proposeApplied(rules: Rules, body: () => unknown, request: CreateRequest): Steps<CreateProposal> {
  const draft = yield* readApplied(rules, body, request);
  const { uid, resourceVersion: _revision, version: _version, ...metadata } = draft.metadata;
  if (uid !== undefined && uid !== '') {
    const why = `uid mismatch: the provided object specified uid ${clip(uid)}, and no existing object was found`;
    throw conflict(rules.model, metadata.name, why);
  }
  const content = yield* appliedContent(rules, draft, request);
  if (request.isLong) yield;
  const fields = yield* appliedFieldsOf(content, rules.schema.shape, new Pace());
  if (request.isLong) yield;
  const entry = newEntry(managerOf(rules, request, 'Apply'), fields, request.now);
  const managedFields = isEmptySet(fields) ? [] : [entry];
  yield* checkManagersSize(managedFields);
  return yield* proposeCreate(rules, () => ({ ...draft, metadata }), { ...request, managedFields });
}

function changesOf(rules: Rules, stored: ApiObject): AppliedWrite['changesIn'] {
  return function* changesIn(apiVersion, content) {
    const applied = content['metadata'];
    const metadata = { ...stored.metadata, ...(isJsonObject(applied) ? applied : {}) };
    const after = { ...content, apiVersion: stored.apiVersion, kind: stored.kind, metadata };
    const changes = rules.changesIn?.(apiVersion, { before: stored, after });
    return changes === undefined ? undefined : yield* changes;
  };
}

function* readApplied(rules: Rules, body: () => unknown, request: WriteRequest): Steps<ObjectDraft> {
  const value = body();
  if (request.isLong) yield;
  const draft = readNamedDraft(rules, value, request);
  if (draft.metadata.managedFields !== undefined) throw badRequest('metadata.managedFields must be nil');
  const unknown = rules.schema.prune(draft);
  if (unknown.length > 0) reportUnknown(rules, unknown, request);
  if (request.isLong) yield;
  return draft;
}

/**
 * Returns the fields of an applied object that the request may write. For the path `/status`, this is only `status`.
 * For the path of the object, these are the fields of metadata that clients set, and all other content, with `status`
 * only if the kind has no path `/status`.
 */
function* appliedContent(rules: Rules, draft: ObjectDraft, request: WriteRequest): Steps<Fields> {
  const { apiVersion: _version, kind: _kind, metadata, status, ...rest } = draft;
  const ofStatus = status === undefined ? {} : { status };
  if (request.subresource === 'status') return yield* withoutNulls(ofStatus, rules.schema.shape, new Pace());
  const hasOwnPath = rules.model.subresources.includes('status');
  const owned = authorFields(metadata);
  const content = { ...(isEmpty(owned) ? {} : { metadata: owned }), ...rest, ...(hasOwnPath ? {} : ofStatus) };
  return yield* withoutNulls(content, rules.schema.shape, new Pace());
}

function* knownFields(rules: Rules, stored: ApiObject, request: WriteRequest): Steps<ManagedFields> {
  const { managedFields } = stored.metadata;
  if (managedFields !== undefined && !isEmpty(managedFields)) return managedFields;
  const by = { ...managerOf(rules, request, 'Update'), manager: formerManager };
  const { shape } = rules.schema;
  return yield* trackCreation(stored, { by, shape, now: request.now, isLong: request.isLong });
}
