import { ApiError, deepEqual, formatKey, isApiError, keyOf, validateMetadata } from '@homeostat/controller-runtime/api';
import type { ApiObject } from '@homeostat/controller-runtime/api';
import type { Entry } from '../index/entry.ts';
import { IndexValueError } from '../index/index-value-error.ts';
import type { Operation } from '../store/store.ts';
import { decodeObject, encodeObject } from './object-codec.ts';
import type { Resource } from './resource.ts';
import { duplicateValue, invalid } from './resource-errors.ts';

/** An object's bytes may not be more, 1.5 MiB as in etcd: a watch event and a transaction have to carry it. */
const maxObjectBytes: number = 1.5 * 1024 * 1024;

export interface Change {
  readonly op: Operation['op'];
  /** In the version of the request. */
  readonly object: ApiObject;
  readonly stored?: Entry;
}

/** A change with all that its commit holds. */
export interface PreparedWrite {
  readonly op: Operation['op'];
  /** As it is stored. */
  readonly object: ApiObject;
  readonly stored?: Entry;
  readonly data: Buffer;
  readonly values: Entry['values'];
  /** What the client gets, where that is another version than what is stored. */
  readonly answer: ApiObject | undefined;
}

/** @throws ApiError for an object that is too large, cannot be stored in its kind's version, or has a value that is another's. */
export function prepareWrite(
  resource: Resource,
  change: Change,
  onIndexBug: (error: IndexValueError) => void,
): PreparedWrite {
  const { object, answer } = storedForm(resource, change);
  const data = encodeObject(object);
  if (data.length > maxObjectBytes) throw tooLarge(data.length);
  return { ...change, object, answer, data, values: indexValues(resource, { ...change, object }, onIndexBug) };
}

/** Whether a change comes to nothing in the version that objects are stored in, which may hold less. */
export function isLost({ object, stored }: PreparedWrite): boolean {
  return stored !== undefined && deepEqual(contentOf(decodeObject(stored.bytes)), contentOf(object));
}

/** What is not counted by the server itself. */
function contentOf({ metadata, ...fields }: ApiObject): object {
  const { version: _v, resourceVersion: _r, generation: _g, managedFields: _m, ...rest } = metadata;
  return { ...fields, metadata: rest };
}

function storedForm(
  { storage, view, model }: Resource,
  { object, stored }: Change,
): Pick<PreparedWrite, 'object' | 'answer'> {
  if (view === undefined) return { object, answer: undefined };
  const { rules } = storage;
  const { name } = object.metadata;
  try {
    const next = view.toStorage(object, rules);
    const causes = [...validateMetadata(next.metadata, rules.model), ...rules.schema.validate(next)];
    if (causes.length > 0)
      throw invalid(
        rules.model,
        name,
        causes.map((cause) => inVersion(cause, rules.model.version)),
      );
    rules.validateModel?.(next, stored === undefined ? undefined : decodeObject(stored.bytes));
    return { object: next, answer: view.fromStorage(next) };
  } catch (error) {
    if (!isApiError(error) || error.reason !== 'InternalError') throw error;
    throw invalid(model, name, [{ reason: 'FieldValueInvalid', message: error.message }]);
  }
}

/** The client has sent other fields. */
function inVersion<T extends { readonly message: string }>(cause: T, version: string): T {
  return { ...cause, message: `${cause.message} (as converted to ${version}, which objects are stored in)` };
}

/** Of the next state; a value that another object holds under a unique index is refused here and in the commit. */
function indexValues(
  resource: Resource,
  change: Change,
  onIndexBug: (error: IndexValueError) => void,
): Entry['values'] {
  if (change.op === 'delete' && change.stored !== undefined) return change.stored.values;
  const { model, cache } = resource;
  const { name } = change.object.metadata;
  try {
    const values = cache.draft(change.object);
    const taken = cache.uniqueHolder(values, formatKey(keyOf(change.object)));
    if (taken !== undefined) throw duplicateValue(model, name, taken);
    return values;
  } catch (error) {
    if (!(error instanceof IndexValueError)) throw error;
    onIndexBug(error);
    throw invalid(model, name, [
      { reason: 'FieldValueInvalid', field: error.index, message: `Invalid value: ${error.message}` },
    ]);
  }
}

function tooLarge(bytes: number): ApiError {
  const message = `Request entity too large: the object has ${bytes} bytes, limit is ${maxObjectBytes}`;
  return new ApiError('RequestEntityTooLarge', message);
}
