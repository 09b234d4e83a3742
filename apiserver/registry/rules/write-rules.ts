import { deepEqual, validateMetadata } from '@homeostat/controller-runtime/api';
import type { ApiError, ApiObject, FieldCause, ModelDescriptor, ObjectMeta } from '@homeostat/controller-runtime/api';
import { checkManagersSize } from '../../apply/managers-size.ts';
import { trackCreation } from '../../apply/managed-fields.ts';
import type { ManagedFields } from '../../apply/managed-fields.ts';
import { unknownFieldMessage } from '../../schema/pruner.ts';
import { admittedFields, fieldManagement, managerOf } from './field-management.ts';
import type { FieldManagement } from './field-management.ts';
import { labelKeyCauses } from '../object/label-keys.ts';
import type { CreateProposal, NextState, UpdateProposal } from './proposal.ts';
import { readDraft, readNamedDraft } from './read-draft.ts';
import { badRequest, clip, conflict, invalid } from '../object/resource-errors.ts';
import type { Steps } from '../../turns/steps.ts';
import type { CreateRequest, ObjectDraft, Rules, WriteRequest } from './write-request.ts';

/** Warns of fields that were removed because they are unknown, or refuses them (400), as the request demands. */
export function reportUnknown({ model }: Rules, unknown: readonly string[], request: WriteRequest): void {
  if (request.fieldValidation === 'Ignore') return;
  if (request.fieldValidation === 'Strict') {
    const { kind, version } = model;
    const list = unknown.map(unknownFieldMessage).join(', ');
    throw badRequest(
      `${kind} in version "${version}" cannot be handled as a ${kind}: strict decoding error: ${list}`,
      unknown.map((field) => ({ reason: 'FieldValueInvalid', field, message: unknownFieldMessage(field) })),
    );
  }
  for (const path of unknown) request.warnings.push(unknownFieldMessage(path));
}

const noCauses: readonly FieldCause[] = [];

interface Judged {
  readonly request: WriteRequest;
  /** The violations that the schema and its rules found. */
  readonly judged: readonly FieldCause[];
  readonly stored?: ApiObject;
}

/** Returns the violations of the schema and of its CEL rules. */
function* judgeObject(
  rules: Rules,
  object: ApiObject,
  { request, stored }: { readonly request: WriteRequest; readonly stored?: ApiObject },
): Steps<readonly FieldCause[]> {
  const judged = rules.schema.accepts(object) ? noCauses : yield* rules.schema.judge(object);
  return rules.judgeExpressions === undefined
    ? judged
    : yield* rules.judgeExpressions({ next: object, previous: stored }, judged, request.warnings);
}

/**
 * Checks the metadata, and adds the violations of the schema that were already found. @throws ApiError Invalid, which
 * names every violation
 */
function checkObject(rules: Rules, object: ApiObject, { request, judged, stored }: Judged): void {
  const { labels } = object.metadata;
  const causes = validateMetadata(object.metadata, rules.model);
  if (labels !== undefined) causes.push(...labelKeyCauses(labels, stored?.metadata.labels, request));
  if (judged.length > 0) causes.push(...newCauses(judged, object, stored));
  if (causes.length > 0) throw invalid(rules.model, object.metadata.name, causes);
}

/**
 * Returns the violations for which a write is refused. If a write changes only metadata, violations in other fields are
 * ignored, because these fields are already stored: clients must be able to remove the finalizers of an object that a
 * newer schema refuses.
 */
function newCauses(
  causes: readonly FieldCause[],
  object: ApiObject,
  stored: ApiObject | undefined,
): readonly FieldCause[] {
  if (causes.length === 0 || stored === undefined) return causes;
  const isSame = deepEqual({ ...object, metadata: undefined }, { ...stored, metadata: undefined });
  return isSame ? causes.filter(({ field = '' }) => /^metadata\b/.test(field)) : causes;
}

/**
 * Proposes a new object. Values that the client sent for the server's fields are replaced (objects-and-http
 * "Metadata").
 */
export function* proposeCreate(rules: Rules, body: () => unknown, request: CreateRequest): Steps<CreateProposal> {
  const value = body();
  if (request.isLong) yield;
  const draft = readDraft(rules, value, request);
  if (draft.metadata.resourceVersion !== undefined && draft.metadata.resourceVersion !== '') {
    throw badRequest('metadata.resourceVersion: must not be set on objects to be created');
  }
  if (rules.model.subresources.includes('status')) delete draft.status;
  rules.schema.applyDefaults(draft);
  if (request.isLong) yield;
  const unknown = rules.schema.prune(draft);
  if (unknown.length > 0) reportUnknown(rules, unknown, request);
  const given: Partial<ObjectMeta> = draft.metadata;
  const { name = '', generateName = '' } = given;
  const isNameDrawn = name === '' && generateName !== '';
  draft.metadata = newMetadata(draft.metadata, isNameDrawn ? request.draw(generateName) : name, request);
  const object = rules.strategy === undefined ? draft : { ...rules.strategy.completeNew(draft) };
  return { verb: 'create', op: 'create', request, object, isNameDrawn };
}

function newMetadata(given: ObjectMeta, name: string, request: CreateRequest): ObjectMeta {
  const { generateName = '' } = given;
  const { uid, namespace, now: creationTimestamp } = request;
  // An object without generateName and namespace needs no spreads, which cost more than the rest of this function.
  const own: OwnMetadata =
    generateName === '' && namespace === undefined
      ? { name, uid, version: 1, resourceVersion: '', generation: 1, creationTimestamp }
      : {
          name,
          ...(generateName === '' ? {} : { generateName }),
          ...(namespace === undefined ? {} : { namespace }),
          uid,
          version: 1,
          resourceVersion: '',
          generation: 1,
          creationTimestamp,
        };
  setAuthorFields(own, given);
  return own;
}

/**
 * Decides a creation. `admitted` is the object that hooks returned, or the proposed object if there are no hooks.
 * @throws ApiError
 */
export function* decideCreate(rules: Rules, proposal: CreateProposal, admitted: ApiObject): Steps<NextState> {
  const { op, request, object: proposed } = proposal;
  const object = admitted === proposed ? proposed : acceptAdmitted(rules, proposed, { admitted });
  const { schema, judgeExpressions } = rules;
  // If the kind has no CEL rules and `accepts` returns true, `judgeObject` would find no violations: it is not run.
  const isPlain = judgeExpressions === undefined && schema.accepts(object);
  const judged = isPlain ? noCauses : yield* judgeObject(rules, object, { request });
  checkObject(rules, object, { request, judged });
  if (request.isLong) yield;
  const { managedFields, now, isLong } = request;
  const { shape } = schema;
  // Only the request of a server-side apply has `managedFields`. Without them, the creator owns all fields of the new
  // object.
  const entries =
    managedFields === undefined
      ? yield* trackCreation(object, { by: managerOf(rules, request, 'Update'), shape, now, isLong })
      : yield* admittedFields(rules, managedFields, { states: { before: proposed, after: object }, request });
  if (request.isLong) yield* checkManagersSize(entries ?? []);
  setManagedFields(object, entries);
  rules.validateModel?.(object, undefined);
  if (rules.judge !== undefined) yield* rules.judge(object, undefined);
  return { op, object };
}

/**
 * Fills in defaults in the object that hooks returned, and prunes it. The client gets no warnings about unknown fields,
 * because it has not sent them. The server's metadata, and the fields that a request to this path does not write, stay
 * unchanged.
 */
function acceptAdmitted(
  rules: Rules,
  proposed: ObjectDraft,
  { admitted, subresource }: { readonly admitted: Stated; readonly subresource?: string | undefined },
): ObjectDraft {
  const { status, ...fields } = admitted;
  if (subresource === 'status') return reshaped(rules, withStatus(proposed, status));
  const metadata = nextMetadata(proposed, admitted);
  const keepsStatus = rules.model.subresources.includes('status');
  return reshaped(rules, withStatus({ ...fields, metadata }, keepsStatus ? proposed.status : status));
}

function reshaped({ schema }: Rules, draft: ObjectDraft): ObjectDraft {
  schema.applyDefaults(draft);
  schema.prune(draft);
  return draft;
}

type OwnMetadata = { -readonly [K in keyof ObjectMeta]: ObjectMeta[K] };

/**
 * Returns the fields of metadata that clients set. Removes repetitions of a finalizer, and keeps the order of the
 * finalizers.
 */
export function authorFields(given: Partial<ObjectMeta>): Partial<ObjectMeta> {
  const own: Partial<OwnMetadata> = {};
  setAuthorFields(own, given);
  return own;
}

function setAuthorFields(own: Partial<OwnMetadata>, given: Partial<ObjectMeta>): void {
  const { labels, annotations, finalizers, ownerReferences } = given;
  // The fields are assigned one by one, because spreads of conditional fields take twice as long.
  if (labels !== undefined && !isEmpty(labels)) own.labels = labels;
  if (annotations !== undefined && !isEmpty(annotations)) own.annotations = annotations;
  if (ownerReferences !== undefined && !isEmpty(ownerReferences)) own.ownerReferences = ownerReferences;
  if (finalizers !== undefined && !isEmpty(finalizers)) own.finalizers = [...new Set(finalizers)];
}

export function isEmpty(value: object | null | undefined): boolean {
  return value === undefined || value === null || Object.keys(value).length === 0;
}

/** Proposes the next state of `stored` for a PUT of the object, of its status, or to its subresource `finalize`. */
export function* proposeUpdate(
  rules: Rules,
  stored: ApiObject,
  body: () => unknown,
  request: WriteRequest,
): Steps<UpdateProposal> {
  const value = body();
  if (request.isLong) yield;
  const draft = readNamedDraft(rules, value, request);
  checkPreconditions(rules.model, stored, draft.metadata);
  const manage = fieldManagement(rules, draft, request);
  return yield* proposeNext(rules, stored, { draft, request, keepStatus: draft.status === undefined, manage });
}

/**
 * Proposes the next state of `stored` for a PATCH. `body` is the patched object, so if it has no status, the patch has
 * removed the status.
 */
export function* proposePatch(
  rules: Rules,
  stored: ApiObject,
  body: () => unknown,
  request: WriteRequest,
): Steps<UpdateProposal> {
  const value = body();
  if (request.isLong) yield;
  const draft = readNamedDraft(rules, value, request);
  const { uid, ...revisions } = draft.metadata;
  // The revision is checked first, as in kube-apiserver, so that the patch of an object that was deleted and created
  // again is a conflict.
  checkPreconditions(rules.model, stored, revisions);
  if (uid !== stored.metadata.uid) {
    const message = `Invalid value: ${JSON.stringify(clip(uid ?? ''))}: field is immutable`;
    throw invalid(rules.model, stored.metadata.name, [{ reason: 'FieldValueInvalid', field: 'metadata.uid', message }]);
  }
  const manage = fieldManagement(rules, draft, request);
  return yield* proposeNext(rules, stored, { draft, request, keepStatus: false, manage });
}

/**
 * Checks that version, resourceVersion and uid are those of the stored object, if the request has them. @throws
 * ApiError Conflict when one of them differs, BadRequest or Invalid for a resourceVersion that no object can have
 */
export function checkPreconditions(model: ModelDescriptor, stored: ApiObject, given: Partial<ObjectMeta>): void {
  const { name, uid, version, resourceVersion } = stored.metadata;
  if (given.uid !== undefined && given.uid !== '' && given.uid !== uid) {
    const why = `the UID in the precondition (${clip(given.uid)}) does not match the UID in record (${uid}). The object might have been deleted and then recreated`;
    throw conflict(model, name, why);
  }
  if (given.resourceVersion !== undefined && given.resourceVersion !== '') {
    if (!/^\d{1,16}$/.test(given.resourceVersion))
      throw badRequest('metadata.resourceVersion: must be a decimal number of at most 16 digits');
    if (Number(given.resourceVersion) === 0) throw noRevision(model, name);
    if (Number(given.resourceVersion) !== Number(resourceVersion)) throw conflict(model, name);
  }
  if (given.version !== undefined && given.version !== version) throw conflict(model, name);
}

/**
 * Returns the error for an update with the resourceVersion 0, which no object has. Like Kubernetes, this server refuses
 * such an update, so that no client uses 0 to mean "any state".
 */
function noRevision(model: ModelDescriptor, name: string): ApiError {
  const message = 'Invalid value: 0: must be specified for an update';
  return invalid(model, name, [{ reason: 'FieldValueInvalid', field: 'metadata.resourceVersion', message }]);
}

interface Next {
  readonly draft: ObjectDraft;
  readonly request: WriteRequest;
  readonly keepStatus: boolean;
  readonly manage: FieldManagement;
}

/**
 * Proposes the next state of `stored`: completes the draft with stored fields and the schema's defaults, prunes it, and
 * sets the server's metadata.
 */
export function* proposeNext(rules: Rules, stored: ApiObject, next: Next): Steps<UpdateProposal> {
  const { request, manage } = next;
  const object = nextObject(rules, stored, next);
  rules.schema.applyDefaults(object);
  if (request.isLong) yield;
  const unknown = rules.schema.prune(object);
  if (unknown.length > 0) reportUnknown(rules, unknown, request);
  object.metadata = nextMetadata(stored, object);
  return { verb: 'update', request, object, stored, manage };
}

/**
 * Checks the object that an update would store, and returns it, with the operation `update`, or `delete` if the object
 * is being deleted and nothing keeps it any longer. Returns undefined when the update changes nothing. `admitted` is
 * the object that hooks returned, or the proposed object if there are no hooks.
 * @throws ApiError
 */
export function* decideUpdate(
  rules: Rules,
  { request, object: proposed, stored, manage }: UpdateProposal,
  admitted: ApiObject,
): Steps<NextState | undefined> {
  const { subresource } = request;
  const object = admitted === proposed ? proposed : acceptAdmitted(rules, proposed, { admitted, subresource });
  const isSame = deepEqual(stored, object);
  const managed = manage.keepsEntries(stored) ? stored.metadata.managedFields : yield* manage.entries(stored);
  // An empty list of managedFields counts as no list, because it is not stored.
  if (isSame && deepEqual(managed ?? [], stored.metadata.managedFields ?? [])) return undefined;
  const isPlain = rules.judgeExpressions === undefined && rules.schema.accepts(object);
  const judged = isPlain ? noCauses : yield* judgeObject(rules, object, { request, stored });
  checkObject(rules, object, { request, judged, stored });
  if (request.isLong) yield;
  checkFinalizers(rules.model, stored, object);
  const states = { before: stored, proposed, after: object };
  const entries = isSame ? managed : yield* manage.afterChange(managed, states);
  if (request.isLong) yield* checkManagersSize(entries ?? []);
  setManagedFields(object, entries);
  if (request.isLong) yield;
  const changed = withVersions(stored, object);
  // The last state of a removed object is not stored, so the model's own rules do not check it, and cannot prevent the
  // removal.
  if (changed.metadata.deletionTimestamp !== undefined && !isHeld(rules, changed))
    return { op: 'delete', object: changed };
  rules.validateModel?.(changed, stored);
  if (rules.judge !== undefined) yield* rules.judge(changed, stored);
  return { op: 'update', object: changed };
}

function nextObject(rules: Rules, stored: ApiObject, next: Next): ObjectDraft {
  const { draft, request } = next;
  const { strategy } = rules;
  if (request.subresource === 'finalize') return { ...(strategy?.finalize(stored, draft) ?? stored) };
  const object = request.subresource === 'status' ? withStatus(stored, draft.status) : withStored(rules, stored, next);
  if (strategy === undefined) return object;
  // The name and the mark for deletion keep their stored values, even if a client sends others.
  const { name, deletionTimestamp } = stored.metadata;
  const { deletionTimestamp: _sent, ...metadata } = object.metadata;
  const server = { name, ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }) };
  return { ...strategy.completeNext({ ...object, metadata: { ...metadata, ...server } }, stored) };
}

/** Returns true when finalizers or the kind's rules keep an object that is marked for deletion. */
export function isHeld({ strategy }: Rules, object: ApiObject): boolean {
  return !isEmpty(object.metadata.finalizers) || strategy?.isHeld(object) === true;
}

type Stated = ApiObject & { readonly status?: unknown };

function withStatus(object: Stated, status: unknown): ObjectDraft {
  const { apiVersion, kind, metadata, status: _status, ...fields } = object;
  return { apiVersion, kind, metadata, ...fields, ...(status === undefined ? {} : { status }) };
}

function withStored(rules: Rules, stored: Stated, next: Next): ObjectDraft {
  const { draft } = next;
  const keepStatus = next.keepStatus || rules.model.subresources.includes('status');
  // Only a draft with a status is copied. Most drafts have none, and get the stored status without a copy.
  if (keepStatus && draft.status !== undefined) return withStatus(draft, stored.status);
  if (keepStatus && stored.status !== undefined) draft.status = stored.status;
  return draft;
}

function nextMetadata(stored: ApiObject, object: ApiObject): ObjectMeta {
  const { name, labels: _l, annotations: _a, finalizers: _f, ownerReferences: _o, ...server } = stored.metadata;
  const next: OwnMetadata = { name, ...server };
  setAuthorFields(next, object.metadata);
  return next;
}

/**
 * Sets managedFields in place, because a copy costs as much as the computation of managedFields. The metadata was
 * created for this write, so no other code has it.
 */
function setManagedFields({ metadata }: ObjectDraft, entries: ManagedFields | undefined): void {
  const own: { managedFields?: ManagedFields } = metadata;
  if (entries !== undefined && entries.length > 0) own.managedFields = entries;
  else if (own.managedFields !== undefined) delete own.managedFields;
}

function withVersions(stored: Stated, object: ObjectDraft): ApiObject {
  const { metadata: former, status: _before, ...before } = stored;
  const { metadata, status: _after, ...after } = object;
  const own: OwnMetadata = metadata;
  own.version = former.version + 1;
  own.generation = former.generation + (deepEqual(before, after) ? 0 : 1);
  return object;
}

/** Checks that a write adds no finalizers once the object is marked for deletion. */
function checkFinalizers(model: ModelDescriptor, stored: ApiObject, object: ApiObject): void {
  if (stored.metadata.deletionTimestamp === undefined) return;
  const before = new Set(stored.metadata.finalizers);
  const added = (object.metadata.finalizers ?? []).filter((finalizer) => !before.has(finalizer));
  if (added.length === 0) return;
  const cause: FieldCause = {
    reason: 'FieldValueForbidden',
    field: 'metadata.finalizers',
    message: `Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers ${JSON.stringify(added)}`,
  };
  throw invalid(model, stored.metadata.name, [cause]);
}
