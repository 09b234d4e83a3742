import { freezeDeep } from '@homeostat/controller-runtime';
import {
  ApiError,
  apiVersionOf,
  deepEqual,
  isApiError,
  metadataShapeErrors,
  isJsonObject,
} from '@homeostat/controller-runtime/api';
import type { ApiObject, Clock, FieldCause, Logger } from '@homeostat/controller-runtime/api';
import type { Draft } from '../../admission/admission.ts';
import { callHook, HookFailure } from '../../admission/call-hook.ts';
import type { HookName, MountedHooks } from '../../admission/call-hook.ts';
import { objectLimits } from '../../limits/body-limits.ts';
import { copyAsJsonObject } from '../../decode/json-copy.ts';
import type { Entry } from '../../index/entry.ts';
import { project } from '../kinds/other-versions.ts';
import { PendingConversion } from '../kinds/pending-conversion.ts';
import { decodeObject } from '../object/object-codec.ts';
import type { Proposal } from '../rules/proposal.ts';
import type { Resource } from '../kinds/resource.ts';
import { clip, invalid } from '../object/resource-errors.ts';
import type { Subresource } from '../rules/write-request.ts';

/**
 * The maximum number of causes that a response contains from a hook. People read the list, so a longer one is of no
 * use.
 */
const maxCauses = 100;

const hookNames = { create: 'onCreate', update: 'onUpdate', delete: 'onDelete' } as const;

/** A write of a kind with hooks. */
interface HookedWrite {
  readonly verb: Proposal['verb'];
  /** The kind of the object, in the version that the request names. */
  readonly resource: Resource;
  /** The entry that is changed or deleted; undefined for a creation. */
  readonly stored: Entry | undefined;
  readonly dryRun: boolean;
  readonly subresource: Subresource | undefined;
  /** The warnings of the response, to which hooks add their own. */
  readonly warnings: string[];
}

interface Surroundings {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The data that the calls of hooks need in addition to the object. */
export interface HookContext {
  readonly write: HookedWrite;
  readonly around: Surroundings;
}

/** The result of hooks on a proposed object. */
export interface Admitted {
  readonly object: ApiObject;
  /**
   * The error of a hook that has a bug, or of a conversion between the version of the request and the version of the
   * hook. No further hook was called. The write fails: with the error of the rules if they refuse the object, otherwise
   * because of this error.
   */
  readonly failure?: unknown;
}

/**
 * Calls the hooks of a kind with a proposed object, one after the other. Each hook gets the result of the previous
 * hook. @throws ApiError of the hook that refuses the write
 */
export async function admitWrite(
  proposed: ApiObject,
  hooks: readonly MountedHooks[],
  { write, around }: HookContext,
): Promise<Admitted> {
  const name = hookNames[write.verb];
  let object = proposed;
  for (const mounted of hooks) {
    if (mounted.hooks[name] === undefined) continue;
    try {
      object = await admitBy(mounted, name, { write, object, clock: around.clock });
    } catch (failure) {
      if (failure instanceof PendingConversion) throw failure;
      if (!isApiError(failure) || failure.reason === 'InternalError') return { object, failure };
      if (failure.reason === 'Timeout')
        around.logger.warn({ ...nameOf(write, proposed), err: failure }, 'a hook has not ended before its deadline');
      throw failure;
    }
  }
  return { object };
}

/**
 * Logs a hook's failure when the rules refuse the object anyway: the client then gets the error about its own mistake,
 * not the one about the plugin's bug.
 */
export function logHiddenFailure(err: unknown, object: ApiObject, { write, around: { logger } }: HookContext): void {
  logger.debug({ ...nameOf(write, object), err }, 'a hook failed for an object that is refused anyway');
}

/** Logs a bug of a hook, and returns the error for the client. */
export function failedHook(failure: unknown, object: ApiObject, { write, around: { logger } }: HookContext): ApiError {
  const named = nameOf(write, object);
  if (failure instanceof HookFailure) {
    const { plugin, hook, cause: err } = failure;
    logger.error({ ...named, plugin, hook, err }, 'a hook failed');
  } else if (!isApiError(failure)) logger.error({ ...named, err: failure }, 'admission failed');
  return hookError(failure, object, write);
}

interface HookRun {
  readonly write: HookedWrite;
  readonly object: ApiObject;
  readonly clock: Clock;
}

/** Returns the result of one plugin's hook; the object itself when the hook changes nothing. */
async function admitBy(mounted: MountedHooks, name: HookName, { write, object, clock }: HookRun): Promise<ApiObject> {
  const { resource, stored, dryRun, subresource, warnings } = write;
  const target = resource.storage.inVersion(mounted.model.version);
  if (target === undefined)
    throw new Error(`${apiVersionOf(mounted.model)} is not a version of ${resource.model.kind}`);
  const old = stored === undefined ? undefined : freezeDeep(decodeObject(target.show(stored).bytes));
  const isDeletion = name === 'onDelete' && old !== undefined;
  const shown = isDeletion ? old : inVersion(object, resource, target);
  const before = isDeletion ? old : structuredClone(shown);
  const subject = {
    object: shown as Draft<ApiObject>,
    dryRun,
    // The message may be of any type, because plugins may be plain JavaScript.
    warn: (message: unknown): void => void warnings.push(String(message)),
    ...(old === undefined || isDeletion ? {} : { old }),
    ...(subresource === 'status' || subresource === 'scale' ? { subresource } : {}),
  };
  const answer = await callHook(mounted, name, { subject, clock }).catch((error: unknown) => {
    throw refusalOf(error, { resource, target, object: before });
  });
  if (isDeletion) return object;
  const next = readAnswer(mounted, name, { answer: answer ?? shown, before });
  return deepEqual(next, before) ? object : inVersion(next, target, resource);
}

/** Returns a copy of an object, converted to another version. */
function inVersion(object: ApiObject, from: Resource, to: Resource): ApiObject {
  return from === to ? structuredClone(object) : project(object, { from, to, storage: from.storage.rules });
}

/**
 * The fields of metadata whose change by a hook is an error. The other fields of metadata that the server sets keep
 * their values, whatever a hook returns.
 */
const fixedFields = ['name', 'namespace', 'uid'] as const;

/**
 * Checks the result of a hook, and returns a copy of it, because the hook may still modify its result. @throws
 * HookFailure when the result is not an object, has malformed metadata, or has another apiVersion, kind, name,
 * namespace or uid
 */
function readAnswer(
  mounted: MountedHooks,
  hook: HookName,
  { answer, before }: { readonly answer: unknown; readonly before: ApiObject },
): ApiObject {
  try {
    if (!isJsonObject(answer)) throw new TypeError('the hook must return an object, or nothing');
    const next = copyAsJsonObject(answer, objectLimits) as ApiObject;
    const [wrong] = metadataShapeErrors(next.metadata);
    if (wrong !== undefined) throw new TypeError(`${wrong.field}: ${wrong.message}`);
    const changed = [
      ...(['apiVersion', 'kind'] as const).filter((field) => next[field] !== before[field]),
      ...fixedFields.filter((field) => next.metadata[field] !== before.metadata[field]),
    ];
    if (changed.length > 0) throw new TypeError(`the hook must not change ${changed.join(', ')}`);
    return next;
  } catch (cause) {
    throw new HookFailure(mounted, hook, cause);
  }
}

/**
 * Copies the error with which a hook refuses a write. Checks the fields of the error, because clients receive them, and
 * plugins may be plain JavaScript.
 */
function refusalOf(
  error: unknown,
  { resource, target, object }: { readonly resource: Resource; readonly target: Resource; readonly object: ApiObject },
): unknown {
  if (!isApiError(error)) return error;
  const { reason, message, retryAfterSeconds } = error;
  const causes = causesOf(error);
  if (reason === 'Invalid') {
    const named = causes.length > 0 ? causes : [{ reason: 'FieldValueInvalid', message: clip(message) } as const];
    const { version } = target.model;
    const { name } = object.metadata;
    if (target === resource) return invalid(resource.model, name, named);
    return invalid(
      resource.model,
      name,
      named.map((cause) => ({ ...cause, message: `${cause.message} (as converted to ${version})` })),
    );
  }
  const { group, plural: kind } = resource.model;
  const details = { name: clip(object.metadata.name), group, kind };
  return new ApiError(reason, clip(message), {
    cause: error,
    details,
    causes,
    ...(typeof retryAfterSeconds === 'number' ? { retryAfterSeconds } : {}),
  });
}

function causesOf({ causes }: ApiError): readonly FieldCause[] {
  const given: unknown = causes;
  if (!Array.isArray(given)) return [];
  return given.slice(0, maxCauses).filter(isCause).map(clipped);
}

function isCause(value: unknown): value is FieldCause {
  if (!isJsonObject(value)) return false;
  const { field, message, reason } = value;
  return typeof message === 'string' && typeof reason === 'string' && ['string', 'undefined'].includes(typeof field);
}

function clipped({ reason, message, field }: FieldCause): FieldCause {
  return { reason, message: clip(message), ...(field === undefined ? {} : { field: clip(field) }) };
}

/**
 * Returns the 500 for a bug of a hook, without the text of the hook's error. If the object cannot be converted to the
 * version of a hook, returns a 422 with the reason; for a deletion, returns the error of the conversion.
 */
function hookError(failure: unknown, object: ApiObject, { resource, verb }: HookedWrite): ApiError {
  if (isApiError(failure)) {
    if (verb === 'delete') return failure;
    const causes = [{ reason: 'FieldValueInvalid', message: failure.message }] as const;
    return invalid(resource.model, object.metadata.name, causes);
  }
  const message = failure instanceof HookFailure ? failure.message : 'admission failed';
  return new ApiError('InternalError', `Internal error occurred: ${message}; nothing was stored`, { cause: failure });
}

function nameOf({ resource }: HookedWrite, { metadata }: ApiObject): object {
  const { kind, group } = resource.model;
  return { kind, group, name: metadata.name };
}
