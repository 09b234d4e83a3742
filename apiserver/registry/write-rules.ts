import { apiVersionOf, deepEqual, metadataShapeErrors, validateMetadata } from '@homeostat/controller-runtime/api';
import type { ApiObject, FieldCause, ModelDescriptor, ObjectMeta } from '@homeostat/controller-runtime/api';
import type { ObjectSchema } from '../schema/compile-schema.ts';
import { unknownFieldMessage } from '../schema/warnings.ts';
import { labelKeyCauses } from './label-keys.ts';
import type { KindStrategy } from './kind-strategy.ts';
import type { LabelKeyRules } from './label-keys.ts';
import type { ModelValidator } from './model-validator.ts';
import { badRequest, clip, conflict, invalid } from './resource-errors.ts';

/** What the rules need to know of a kind. */
export interface Rules {
  readonly model: ModelDescriptor;
  readonly schema: ObjectSchema;
  /** The model's own rules, for objects that are valid otherwise. */
  readonly validateModel: ModelValidator | undefined;
  /** Of a built-in kind that has rules of its own. */
  readonly strategy?: KindStrategy | undefined;
}

/** What of an object is written by itself; `finalize` is for built-in kinds that have it. */
export type Subresource = 'status' | 'finalize';

/** What a write was asked to do besides its object. */
export interface WriteRequest extends LabelKeyRules {
  /** From the path; absent for a creation, whose body names the object. */
  readonly name?: string;
  /** From the path; absent for Cluster-scoped kinds. */
  readonly namespace?: string;
  readonly fieldValidation: 'Ignore' | 'Warn' | 'Strict';
  /** Server time, RFC 3339 with whole seconds. */
  readonly now: string;
  /** Collects warnings for the answer. */
  readonly warn: (message: string) => void;
  readonly subresource?: Subresource;
}

/** The fields of an object, before its types are known to be right. */
type Draft = { -readonly [K in keyof ApiObject]: ApiObject[K] } & { status?: unknown; [field: string]: unknown };

/** What a write amounts to. `none`: nothing changes, and the stored object is the answer. */
export type Decision =
  | { readonly kind: 'none' }
  | { readonly kind: 'write'; readonly object: ApiObject }
  | { readonly kind: 'remove'; readonly object: ApiObject };

/** Checks that a body is an object of this model at this path; everything wrong here is a 400. */
function readDraft(rules: Rules, body: unknown, request: WriteRequest): Draft {
  const { model } = rules;
  if (body === null || typeof body !== 'object' || Array.isArray(body)) {
    throw badRequest(`the object provided is unrecognized (must be of type ${model.kind}): expected an object`);
  }
  const draft = body as Draft;
  checkType(model, draft);
  const metadata: unknown = draft.metadata ?? {};
  const wrong = metadataShapeErrors(metadata);
  if (wrong.length > 0) {
    const list = wrong.map((cause) => `${cause.field}: ${cause.message}`).join(', ');
    throw badRequest(
      `${model.kind} in version "${model.version}" cannot be handled as a ${model.kind}: ${list}`,
      wrong,
    );
  }
  draft.metadata = withoutNulls(metadata as ObjectMeta);
  checkPath(draft, request);
  return draft;
}

/** Typed clients send `creationTimestamp: null` and the like for what they do not set. */
function withoutNulls(metadata: ObjectMeta): ObjectMeta {
  if (!Object.values(metadata).includes(null)) return { ...metadata };
  return Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== null)) as unknown as ObjectMeta;
}

function checkType(model: ModelDescriptor, draft: Draft): void {
  for (const field of ['apiVersion', 'kind'] as const) {
    if (typeof draft[field] !== 'string' || draft[field] === '') {
      throw badRequest(
        `the object provided is unrecognized (must be of type ${model.kind}): ${field}: must be a non-empty string`,
      );
    }
  }
  const expected = apiVersionOf(model);
  if (draft.apiVersion !== expected) {
    throw badRequest(
      `the API version in the data (${clip(draft.apiVersion)}) does not match the expected API version (${expected})`,
    );
  }
  if (draft.kind !== model.kind) {
    throw badRequest(`the kind in the data (${clip(draft.kind)}) does not match the expected kind (${model.kind})`);
  }
}

function checkPath(draft: Draft, request: WriteRequest): void {
  const { name, namespace } = draft.metadata;
  if (request.name !== undefined && name !== undefined && name !== request.name) {
    throw badRequest(`the name of the object (${clip(name)}) does not match the name on the URL (${request.name})`);
  }
  if (namespace !== undefined && namespace !== '' && namespace !== request.namespace) {
    throw badRequest(
      `the namespace of the object (${clip(namespace)}) does not match the namespace on the URL (${request.namespace ?? ''})`,
    );
  }
}

/** Defaults, pruning with warnings: the shape of what will be stored. Works in place. */
function shapeDraft(rules: Rules, draft: Draft, request: WriteRequest): void {
  rules.schema.applyDefaults(draft);
  const unknown = rules.schema.prune(draft);
  if (unknown.length === 0 || request.fieldValidation === 'Ignore') return;
  if (request.fieldValidation === 'Strict') {
    const { kind, version } = rules.model;
    const list = unknown.map(unknownFieldMessage).join(', ');
    throw badRequest(
      `${kind} in version "${version}" cannot be handled as a ${kind}: strict decoding error: ${list}`,
      unknown.map((field) => ({ reason: 'FieldValueInvalid', field, message: unknownFieldMessage(field) })),
    );
  }
  for (const path of unknown) request.warn(unknownFieldMessage(path));
}

/** Schema and metadata rules; every violation at once (422). */
function validateObject(rules: Rules, object: ApiObject, write: { request: WriteRequest; stored?: ApiObject }): void {
  const causes = [
    ...validateMetadata(object.metadata, rules.model),
    ...labelKeyCauses(object.metadata.labels, write.stored?.metadata.labels, write.request),
    ...rules.schema.validate(object),
  ];
  if (causes.length > 0) throw invalid(rules.model, object.metadata.name, causes);
}

/** A new object's first state; the client's values of the server's fields are replaced (objects-and-http "Metadata"). */
export function decideCreate(
  rules: Rules,
  body: unknown,
  request: WriteRequest & { uid: string; draw: (base: string) => string },
): ApiObject {
  const draft = readDraft(rules, body, request);
  if (draft.metadata.resourceVersion !== undefined && draft.metadata.resourceVersion !== '') {
    throw badRequest('metadata.resourceVersion: must not be set on objects to be created');
  }
  if (rules.model.subresources.includes('status')) delete draft.status;
  shapeDraft(rules, draft, request);
  const { name, generateName, namespace: _namespace, ...given } = draft.metadata;
  draft.metadata = {
    name: name !== undefined && name !== '' ? name : generateName === undefined ? '' : request.draw(generateName),
    ...(generateName === undefined ? {} : { generateName }),
    ...(request.namespace === undefined ? {} : { namespace: request.namespace }),
    uid: request.uid,
    version: 1,
    resourceVersion: '',
    generation: 1,
    creationTimestamp: request.now,
    ...authorFields(given),
  };
  const object = rules.strategy?.completeNew(draft) ?? draft;
  validateObject(rules, object, { request });
  rules.validateModel?.(object, undefined);
  return object;
}

/** The fields of metadata that clients decide. Finalizers are a set; their order is kept. */
function authorFields(given: Partial<ObjectMeta>): Partial<ObjectMeta> {
  const { labels, annotations, finalizers, ownerReferences, managedFields } = given;
  return {
    ...(isEmpty(labels) ? {} : { labels }),
    ...(isEmpty(annotations) ? {} : { annotations }),
    ...(isEmpty(ownerReferences) ? {} : { ownerReferences }),
    ...(isEmpty(finalizers) ? {} : { finalizers: [...new Set(finalizers)] }),
    ...(isEmpty(managedFields) ? {} : { managedFields }),
  };
}

function isEmpty(value: object | null | undefined): boolean {
  return value === undefined || value === null || Object.keys(value).length === 0;
}

/** PUT of the object or of its status: what becomes of `stored`. */
export function decideUpdate(rules: Rules, stored: ApiObject, body: unknown, request: WriteRequest): Decision {
  const draft = readDraft(rules, body, request);
  checkPreconditions(rules.model, stored, draft.metadata);
  return decideNext(rules, stored, { draft, request, keepStatus: draft.status === undefined });
}

/** PATCH: `body` is the patched object, so an absent status was removed on purpose. */
export function decidePatch(rules: Rules, stored: ApiObject, body: unknown, request: WriteRequest): Decision {
  const draft = readDraft(rules, body, request);
  const { uid, name } = draft.metadata;
  if (name === undefined)
    throw badRequest(`the name of the object (${request.name} based on URL) was undeterminable: name must be provided`);
  if (uid !== stored.metadata.uid) {
    const message = `Invalid value: ${JSON.stringify(clip(uid ?? ''))}: field is immutable`;
    throw invalid(rules.model, stored.metadata.name, [{ reason: 'FieldValueInvalid', field: 'metadata.uid', message }]);
  }
  checkPreconditions(rules.model, stored, draft.metadata);
  return decideNext(rules, stored, { draft, request, keepStatus: false });
}

/** version, resourceVersion and uid, where they are given, must be those of the stored object (409). */
export function checkPreconditions(model: ModelDescriptor, stored: ApiObject, given: Partial<ObjectMeta>): void {
  const { name, uid, version, resourceVersion } = stored.metadata;
  if (given.uid !== undefined && given.uid !== '' && given.uid !== uid) {
    const why = `the UID in the precondition (${clip(given.uid)}) does not match the UID in record (${uid}). The object might have been deleted and then recreated`;
    throw conflict(model, name, why);
  }
  if (given.resourceVersion !== undefined && given.resourceVersion !== '') {
    if (!/^\d{1,16}$/.test(given.resourceVersion))
      throw badRequest('metadata.resourceVersion: must be a decimal number');
    if (Number(given.resourceVersion) !== Number(resourceVersion) && given.resourceVersion !== '0')
      throw conflict(model, name);
  }
  if (given.version !== undefined && given.version !== version) throw conflict(model, name);
}

interface Next {
  readonly draft: Draft;
  readonly request: WriteRequest;
  readonly keepStatus: boolean;
}

function decideNext(rules: Rules, stored: ApiObject, next: Next): Decision {
  const { request } = next;
  const object = nextObject(rules, stored, next);
  shapeDraft(rules, object, request);
  const finished: Draft = { ...object, metadata: nextMetadata(stored, object) };
  if (deepEqual(stored, finished)) return { kind: 'none' };
  validateObject(rules, finished, { request, stored });
  checkFinalizers(rules.model, stored, finished);
  const changed = withVersions(stored, finished);
  const gone = changed.metadata.deletionTimestamp !== undefined && !isHeld(rules, changed);
  // What goes is not stored, and must be able to go.
  if (!gone) rules.validateModel?.(changed, stored);
  return { kind: gone ? 'remove' : 'write', object: changed };
}

function nextObject(rules: Rules, stored: ApiObject, next: Next): Draft {
  const { draft, request } = next;
  const { strategy } = rules;
  if (request.subresource === 'finalize') return { ...(strategy?.finalize(stored, draft) ?? stored) };
  const object = request.subresource === 'status' ? withStatus(stored, draft.status) : withStored(rules, stored, next);
  if (strategy === undefined) return object;
  // The name, and whether it is declared deleted, are what is stored, whatever a client sends.
  const { name, deletionTimestamp } = stored.metadata;
  const { deletionTimestamp: _sent, ...metadata } = object.metadata;
  const server = { name, ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }) };
  return { ...strategy.completeNext({ ...object, metadata: { ...metadata, ...server } }, stored) };
}

/** Whether finalizers, or the kind, keep an object that is declared deleted. */
function isHeld({ strategy }: Rules, object: ApiObject): boolean {
  return !isEmpty(object.metadata.finalizers) || strategy?.isHeld(object) === true;
}

function withStatus(stored: ApiObject, status: unknown): Draft {
  const object: Draft = { ...stored };
  if (status === undefined) delete object.status;
  else object.status = status;
  return object;
}

function withStored(rules: Rules, stored: ApiObject, next: Next): Draft {
  const { draft } = next;
  const keepStatus = next.keepStatus || rules.model.subresources.includes('status');
  return keepStatus ? withStatus(draft, (stored as Draft).status) : draft;
}

function nextMetadata(stored: ApiObject, object: Draft): ObjectMeta {
  const {
    labels: _l,
    annotations: _a,
    finalizers: _f,
    ownerReferences: _o,
    managedFields: _m,
    ...server
  } = stored.metadata;
  return { ...server, ...authorFields(object.metadata) };
}

function withVersions(stored: ApiObject, object: Draft): ApiObject {
  const { metadata: storedMetadata, ...before } = stored as Draft;
  const { metadata, ...after } = object;
  delete before.status;
  delete after.status;
  const generation = storedMetadata.generation + (deepEqual(before, after) ? 0 : 1);
  object.metadata = { ...metadata, version: storedMetadata.version + 1, generation };
  return object;
}

/** Once an object is declared deleted, finalizers may only be taken away. */
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

/** DELETE: removed at once when nothing holds it, else declared deleted; a second DELETE changes nothing. */
export function decideDelete(rules: Rules, stored: ApiObject, now: string): Decision {
  rules.strategy?.checkDelete(stored);
  if (!isHeld(rules, stored)) return { kind: 'remove', object: stored };
  if (stored.metadata.deletionTimestamp !== undefined) return { kind: 'none' };
  const metadata: ObjectMeta = {
    ...stored.metadata,
    version: stored.metadata.version + 1,
    generation: stored.metadata.generation + 1,
    deletionTimestamp: now,
    deletionGracePeriodSeconds: 0,
  };
  const object = { ...stored, metadata };
  return { kind: 'write', object: rules.strategy?.declareDeleted(object) ?? object };
}
