import { ApiError, deepEqual, isApiError, validateMetadata } from '@homeostat/controller-runtime/api';
import type { ApiObject, LeaderEpoch, Logger } from '@homeostat/controller-runtime/api';
import { isBroken } from '../../index/broken-entry.ts';
import type { Entry } from '../../index/entry.ts';
import { IndexValueError } from '../../index/index-value-error.ts';
import type { Operation, RequiredClaim } from '../../store/store.ts';
import { objectLimits, uncountedLength } from '../../limits/body-limits.ts';
import { checkCounts } from '../../limits/count-nodes.ts';
import { maxObjectBytes } from '../../limits/object-size.ts';
import { runSteps } from '../../turns/steps.ts';
import type { Steps } from '../../turns/steps.ts';
import { decodeObject, encodeObject, encodeSteps } from '../object/object-codec.ts';
import { whenConverted } from '../kinds/pending-conversion.ts';
import type { Resource } from '../kinds/resource.ts';
import type { NextState } from '../rules/proposal.ts';
import { duplicateValue, invalid } from '../object/resource-errors.ts';

/**
 * The parts of a write that {@link prepareWrite} needs in addition to the next state, which the write rules have
 * computed.
 */
export interface WriteContext {
  /** The object's key from `formatKey`. */
  readonly key: string;
  /** The entry that is changed or deleted; undefined for a creation. */
  readonly stored: Entry | undefined;
  readonly leader: LeaderEpoch | undefined;
  /** The claims that must exist when a creation is committed. */
  readonly requires: readonly RequiredClaim[];
  readonly isLong: boolean;
  /** The logger for failures of index functions. */
  readonly logger: Logger;
}

/** A write with everything that its commit needs. */
export interface PreparedWrite {
  readonly op: Operation['op'];
  readonly key: string;
  /** The object in the storage version. */
  readonly object: ApiObject;
  readonly stored: Entry | undefined;
  readonly leader: LeaderEpoch | undefined;
  readonly requires: readonly RequiredClaim[];
  readonly data: Buffer;
  readonly values: Entry['values'];
  /** The object in the version of the request; undefined when this is the storage version. */
  readonly answer: ApiObject | undefined;
}

/**
 * Prepares a write. Returns a promise if the write is long, or if the version of the request is not the storage
 * version; otherwise returns the result at once. When the result of a conversion webhook is missing, the function calls
 * the webhook, and then prepares the same write again from the start.
 * @throws ApiError for an object that is too large, cannot be converted to the storage version or is invalid in it, has
 * a unique value that another object holds, or cannot be indexed because an index function fails.
 */
export function prepareWrite(
  resource: Resource,
  next: NextState,
  context: WriteContext,
): PreparedWrite | Promise<PreparedWrite> {
  const { isLong } = context;
  if (resource.view !== undefined) return whenConverted(() => runSteps(prepareSteps(resource, next, context), isLong));
  if (isLong) return runSteps(prepareSteps(resource, next, context), isLong);
  const { op, object } = next;
  const data = encodeObject(object);
  if (data.length > uncountedLength) checkSize(next, data, context);
  return withValues(resource, { op, object, answer: undefined, data }, context);
}

function* prepareSteps(resource: Resource, next: NextState, context: WriteContext): Steps<PreparedWrite> {
  const { op } = next;
  const { isLong, stored } = context;
  const { object, answer } =
    resource.view === undefined
      ? { object: next.object, answer: undefined }
      : yield* storedForm(resource, next, stored);
  if (isLong && resource.view !== undefined) yield;
  const data = isLong ? yield* encodeSteps(object) : encodeObject(object);
  if (isLong) yield;
  if (data.length > uncountedLength) checkSize({ op, object }, data, context);
  if (isLong) yield;
  return withValues(resource, { op, object, answer, data }, context);
}

/**
 * Checks an object of more than {@link uncountedLength} bytes; a smaller one cannot have too many fields or items. An
 * update may keep too many fields or items if the object does not get more bytes. @throws ApiError when the object has
 * too many bytes, fields or items
 */
function checkSize({ op, object }: NextState, data: Buffer, { stored }: WriteContext): void {
  if (data.length > maxObjectBytes) throw tooLarge(data);
  const isGrowing = data.length > (stored?.size ?? 0);
  if (isGrowing && op !== 'delete') checkCounts(withoutManagers(object), objectLimits);
}

function tooLarge({ length }: Buffer): ApiError {
  const message = `Request entity too large: the object has ${length} bytes, limit is ${maxObjectBytes}`;
  return new ApiError('RequestEntityTooLarge', message);
}

type Encoded = Pick<PreparedWrite, 'op' | 'object' | 'answer' | 'data'>;

function withValues(
  resource: Resource,
  { op, object, answer, data }: Encoded,
  { key, stored, leader, requires, logger }: WriteContext,
): PreparedWrite {
  const values =
    op === 'delete' && stored !== undefined ? stored.values : indexValues(resource, object, { key, logger });
  return { op, key, object, answer, stored, leader, requires, data, values };
}

/** Returns the object without managedFields, because the limits of fields and items do not count these. */
function withoutManagers({ metadata, ...fields }: ApiObject): object {
  return { ...fields, metadata: { ...metadata, managedFields: undefined } };
}

/**
 * Returns true when a change has no effect on the stored object, because the storage version does not have the changed
 * fields.
 */
export function isLost({ object, stored }: PreparedWrite): boolean {
  return stored !== undefined && deepEqual(contentOf(decodeObject(stored.bytes)), contentOf(object));
}

/** Returns the object without the server's counters and managedFields. */
function contentOf({ metadata, ...fields }: ApiObject): object {
  const { version: _v, resourceVersion: _r, generation: _g, managedFields: _m, ...rest } = metadata;
  return { ...fields, metadata: rest };
}

type Forms = Pick<PreparedWrite, 'object' | 'answer'>;

function* storedForm(resource: Resource, { op, object }: NextState, stored: Entry | undefined): Steps<Forms> {
  try {
    if (op === 'delete') return { object: convertedForm(resource, object), answer: object };
    return yield* checkedForm(resource, object, stored);
  } catch (error) {
    if (!isApiError(error) || error.reason !== 'InternalError') throw error;
    // A deletion must succeed even if the object cannot be converted. The change log then gets the object as it is
    // stored.
    if (op === 'delete' && stored !== undefined) return { object: decodeObject(stored.bytes), answer: object };
    const { model } = resource;
    throw invalid(model, object.metadata.name, [{ reason: 'FieldValueInvalid', message: error.message }]);
  }
}

/**
 * Converts an object to the storage version, checks it with the rules of that version, and returns it in the storage
 * version and in the version of the request.
 */
function* checkedForm(resource: Resource, object: ApiObject, stored: Entry | undefined): Steps<Forms> {
  const { rules } = resource.storage;
  const next = convertedForm(resource, object);
  const causes = [...validateMetadata(next.metadata, rules.model), ...(yield* rules.schema.judge(next))];
  if (causes.length > 0) {
    const { version } = rules.model;
    throw invalid(
      rules.model,
      object.metadata.name,
      causes.map((cause) => inVersion(cause, version)),
    );
  }
  rules.validateModel?.(next, stored === undefined || isBroken(stored) ? undefined : decodeObject(stored.bytes));
  return { object: next, answer: resource.view?.fromStorage(next) };
}

function convertedForm({ storage, view }: Resource, object: ApiObject): ApiObject {
  return view === undefined ? object : view.toStorage(object, storage.rules);
}

/** Adds the storage version to the message of a cause, because the client has sent the object in another version. */
function inVersion<T extends { readonly message: string }>(cause: T, version: string): T {
  return { ...cause, message: `${cause.message} (as converted to ${version}, the storage version)` };
}

/**
 * Returns the index values of the next state. A value that another object holds in a unique index is refused here, and
 * once more by the commit.
 */
function indexValues(
  { model, cache, owner }: Resource,
  object: ApiObject,
  { key, logger }: Pick<WriteContext, 'key' | 'logger'>,
): Entry['values'] {
  const { name } = object.metadata;
  try {
    const values = cache.draft(object);
    const taken = cache.uniqueHolder(values, key);
    if (taken !== undefined) throw duplicateValue(model, name, taken);
    return values;
  } catch (error) {
    if (!(error instanceof IndexValueError)) throw error;
    const { kind, group } = model;
    logger.warn({ kind, group, owner, index: error.index, err: error }, 'index function failed');
    throw invalid(model, name, [
      { reason: 'FieldValueInvalid', field: error.index, message: `Invalid value: ${error.message}` },
    ]);
  }
}
