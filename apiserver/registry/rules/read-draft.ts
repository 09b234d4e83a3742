import { apiVersionOf, metadataShapeErrors } from '@homeostat/controller-runtime/api';
import type { ApiError, ModelDescriptor, ObjectMeta } from '@homeostat/controller-runtime/api';
import { checkItems } from '../../limits/check-items.ts';
import { badRequest, clip } from '../object/resource-errors.ts';
import type { ObjectDraft, Rules, WriteRequest } from './write-request.ts';

/**
 * Checks that a body is an object of this model, with the name and namespace of the path. @throws ApiError BadRequest
 */
export function readDraft(rules: Rules, body: unknown, request: WriteRequest): ObjectDraft {
  const { model } = rules;
  if (body === null || typeof body !== 'object' || Array.isArray(body)) {
    throw badRequest(`the object provided is unrecognized (must be of type ${model.kind}): expected an object`);
  }
  const draft = body as ObjectDraft;
  if (draft.apiVersion !== apiVersionOf(model) || draft.kind !== model.kind) throw wrongType(model, draft);
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
  const { finalizers, ownerReferences } = draft.metadata;
  if (finalizers !== undefined) checkItems(finalizers);
  if (ownerReferences !== undefined) checkItems(ownerReferences);
  checkPath(draft, request);
  return draft;
}

/** Removes fields that are null: typed clients send null for unset fields, such as `creationTimestamp: null`. */
function withoutNulls(metadata: ObjectMeta): ObjectMeta {
  let hasNull = false;
  for (const name in metadata) hasNull ||= metadata[name as keyof ObjectMeta] === null;
  if (!hasNull) return metadata;
  return Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== null)) as unknown as ObjectMeta;
}

/** Returns the error for an object whose apiVersion or kind is missing, or is not that of the model. */
function wrongType(model: ModelDescriptor, draft: ObjectDraft): ApiError {
  for (const field of ['apiVersion', 'kind'] as const) {
    if (typeof draft[field] !== 'string' || draft[field] === '') {
      return badRequest(
        `the object provided is unrecognized (must be of type ${model.kind}): ${field}: must be a non-empty string`,
      );
    }
  }
  const expected = apiVersionOf(model);
  if (draft.apiVersion !== expected) {
    return badRequest(
      `the API version in the data (${clip(draft.apiVersion)}) does not match the expected API version (${expected})`,
    );
  }
  return badRequest(`the kind in the data (${clip(draft.kind)}) does not match the expected kind (${model.kind})`);
}

function checkPath(draft: ObjectDraft, request: WriteRequest): void {
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

/** Checks that an updated, patched or applied object has a name. As in kube-apiserver, the error is a 400. */
export function requireName(draft: { readonly metadata: { readonly name?: unknown } }, request: WriteRequest): void {
  if (draft.metadata.name === undefined || draft.metadata.name === '')
    throw badRequest(`the name of the object (${request.name} based on URL) was undeterminable: name must be provided`);
}

export function readNamedDraft(rules: Rules, value: unknown, request: WriteRequest): ObjectDraft {
  const draft = readDraft(rules, value, request);
  requireName(draft, request);
  return draft;
}
