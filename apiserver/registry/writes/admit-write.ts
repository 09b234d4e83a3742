import { freezeDeep } from '@homeostat/controller-runtime';
import { ApiError, apiVersionOf, deepEqual, isApiError, metadataShapeErrors } from '@homeostat/controller-runtime/api';
import type { ApiObject, Clock, FieldCause, Logger } from '@homeostat/controller-runtime/api';
import type { Draft } from '../../admission/admission.ts';
import { callHook, HookFailure } from '../../admission/call-hook.ts';
import type { HookName, MountedHooks } from '../../admission/call-hook.ts';
import { objectLimits } from '../../limits/body-limits.ts';
import { copyAsJsonObject } from '../../decode/json-copy.ts';
import type { Entry } from '../../index/entry.ts';
import { runSteps } from '../../turns/steps.ts';
import { project } from '../kinds/other-versions.ts';
import { decodeObject } from '../object/object-codec.ts';
import type { Proposal } from '../rules/proposal.ts';
import type { Resource } from '../kinds/resource.ts';
import { clip, invalid } from '../object/resource-errors.ts';
import type { Subresource } from '../rules/write-request.ts';

/** Answers are for people: a hook that refuses each of a thousand items has said enough. */
const maxCauses = 100;

const hookNames = { create: 'onCreate', update: 'onUpdate', delete: 'onDelete' } as const;

/** A write that hooks have a say in. */
export interface AdmittedWrite {
  /** In the version of the request. */
  readonly resource: Resource;
  /** What is changed or deleted; undefined for a creation. */
  readonly stored?: Entry;
  readonly dryRun: boolean;
  readonly subresource: Subresource | undefined;
  readonly warn: (message: string) => void;
  /** Each step in a turn of its own. */
  readonly isLong: boolean;
}

interface Surroundings {
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * What becomes of a proposal that hooks have had their say in, one after the other. Where a hook fails over an object that
 * the rules refuse anyhow, that refusal is the answer: what a client sends wrong is no bug of a plugin.
 * @throws ApiError
 */
export async function admitWrite<R>(
  proposal: Proposal<R>,
  hooks: readonly MountedHooks[],
  { write, around }: { readonly write: AdmittedWrite; readonly around: Surroundings },
): Promise<R> {
  const { object } = proposal;
  let admitted = object;
  for (const mounted of hooks) {
    const name = hookNames[proposal.verb];
    if (mounted.hooks[name] === undefined) continue;
    try {
      admitted = await admitBy(mounted, name, { write, object: admitted, clock: around.clock });
    } catch (error) {
      const isBug = !isApiError(error) || error.reason === 'InternalError';
      const about = { write, object };
      if (isBug) await concludeFirst({ ...proposal, object: admitted }, error, { ...about, logger: around.logger });
      logFailure(error, { ...about, logger: around.logger });
      throw asApiError(error, { ...about, verb: proposal.verb });
    }
  }
  return runSteps(proposal.conclude(admitted), write.isLong);
}

interface About {
  readonly write: AdmittedWrite;
  readonly object: ApiObject;
}

/** Whether the object is wrong by itself. @throws ApiError that says so; the log has the failure. */
async function concludeFirst<R>(
  proposal: Proposal<R>,
  err: unknown,
  { logger, ...about }: About & Pick<Surroundings, 'logger'>,
): Promise<void> {
  try {
    await runSteps(proposal.conclude(proposal.object), about.write.isLong);
  } catch (error) {
    logger.debug({ ...nameOf(about), err }, 'a hook failed over an object that is refused anyhow');
    throw error;
  }
}

interface HookRun {
  readonly write: AdmittedWrite;
  readonly object: ApiObject;
  readonly clock: Clock;
}

/** What the hooks of one plugin make of the object; the object itself when they change nothing. */
async function admitBy(mounted: MountedHooks, name: HookName, { write, object, clock }: HookRun): Promise<ApiObject> {
  const { resource, stored, dryRun, subresource, warn } = write;
  const target = resource.storage.inVersion(mounted.model.version);
  if (target === undefined) throw new Error(`${apiVersionOf(mounted.model)} is no version of ${resource.model.kind}`);
  const old = stored === undefined ? undefined : freezeDeep(decodeObject(target.show(stored).bytes));
  const isDeletion = name === 'onDelete' && old !== undefined;
  const shown = isDeletion ? old : inVersion(object, resource, target);
  const before = isDeletion ? old : structuredClone(shown);
  const subject = {
    object: shown as Draft<ApiObject>,
    dryRun,
    warn,
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

/** A copy of an object of one version in another. */
function inVersion(object: ApiObject, from: Resource, to: Resource): ApiObject {
  return from === to ? structuredClone(object) : project(object, { from, to, storage: from.storage.rules });
}

/** Fields that a hook may not touch. What else is the server's stays as it was, whatever a hook makes of it. */
const fixedFields = ['name', 'namespace', 'uid'] as const;

/** A copy, since the hook may still hold what it answered. @throws HookFailure for what is no object of that name. */
function readAnswer(
  mounted: MountedHooks,
  hook: HookName,
  { answer, before }: { readonly answer: unknown; readonly before: ApiObject },
): ApiObject {
  try {
    if (typeof answer !== 'object' || answer === null || Array.isArray(answer))
      throw new TypeError('it must answer an object, or nothing');
    const next = copyAsJsonObject(answer, objectLimits) as ApiObject;
    const [wrong] = metadataShapeErrors(next.metadata);
    if (wrong !== undefined) throw new TypeError(`${wrong.field}: ${wrong.message}`);
    const changed = [
      ...(['apiVersion', 'kind'] as const).filter((field) => next[field] !== before[field]),
      ...fixedFields.filter((field) => next.metadata[field] !== before.metadata[field]),
    ];
    if (changed.length > 0) throw new TypeError(`it must not change ${changed.join(', ')}`);
    return next;
  } catch (cause) {
    throw new HookFailure(mounted, hook, cause);
  }
}

/** A new error with what a hook refuses a write with: it is sent to clients, and plugins may be plain JavaScript. */
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
  if (typeof value !== 'object' || value === null) return false;
  const { field, message, reason } = value as Readonly<Record<string, unknown>>;
  return typeof message === 'string' && typeof reason === 'string' && ['string', 'undefined'].includes(typeof field);
}

function clipped({ reason, message, field }: FieldCause): FieldCause {
  return { reason, message: clip(message), ...(field === undefined ? {} : { field: clip(field) }) };
}

/** 500 without inner text for what is a hook's bug; an object that cannot be converted for it is refused, as in any write. */
function asApiError(
  error: unknown,
  { write, object, verb }: About & { readonly verb: Proposal<unknown>['verb'] },
): ApiError {
  if (isApiError(error)) {
    if (error.reason !== 'InternalError' || verb === 'delete') return error;
    const causes = [{ reason: 'FieldValueInvalid', message: error.message }] as const;
    return invalid(write.resource.model, object.metadata.name, causes);
  }
  const message = error instanceof HookFailure ? error.message : 'admission failed';
  return new ApiError('InternalError', `Internal error occurred: ${message}; nothing was stored`, { cause: error });
}

/** A refusal is the plugin's affair; that it failed, or has not answered, is its author's. */
function logFailure(error: unknown, { logger, ...about }: About & Pick<Surroundings, 'logger'>): void {
  const named = nameOf(about);
  if (error instanceof HookFailure) {
    const { plugin, hook, cause: err } = error;
    logger.error({ ...named, plugin, hook, err }, 'a hook failed');
  } else if (!isApiError(error)) logger.error({ ...named, err: error }, 'admission failed');
  else if (error.reason === 'Timeout') logger.warn({ ...named, err: error }, 'a hook passed its deadline');
}

function nameOf({ write, object }: About): object {
  const { kind, group } = write.resource.model;
  return { kind, group, name: object.metadata.name };
}
