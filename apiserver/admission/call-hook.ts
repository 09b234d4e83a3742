import type { Client } from '@homeostat/controller-runtime';
import { ApiError, isApiError } from '@homeostat/controller-runtime/api';
import type { ApiObject, Clock, ModelDescriptor, StatusReason } from '@homeostat/controller-runtime/api';
import type { AdmissionHooks, UpdateAdmission } from './admission.ts';
import { toError } from '../base/to-error.ts';

/** The hooks that a plugin has added for one kind with one call of `add`. */
export interface MountedHooks {
  readonly plugin: string;
  /** The model in the version in which the hooks receive objects. */
  readonly model: ModelDescriptor;
  readonly hooks: AdmissionHooks;
  readonly timeoutMs: number;
  readonly client: Client;
  /** A signal that aborts when the plugin stops. */
  readonly signal: AbortSignal;
}

export type HookName = keyof AdmissionHooks;

/** The arguments of a call of a hook: the object, and the facts about its write. */
export type HookSubject = Pick<UpdateAdmission, 'object' | 'dryRun' | 'warn' | 'subresource'> & {
  readonly old?: ApiObject | undefined;
};

/**
 * Reasons with which a hook may refuse a write. Any other reason (NotFound, Conflict ...) comes from a request that the
 * hook made itself. Clients would misunderstand it as a statement about the object that they write. So it counts as a
 * failure of the hook.
 */
const refusals: ReadonlySet<StatusReason> = new Set<StatusReason>([
  'BadRequest',
  'Forbidden',
  'Invalid',
  'ServiceUnavailable',
  'TooManyRequests',
]);

/**
 * The error for a bug of a hook: it throws an error other than a refusal, its result is not an object, or it changes
 * apiVersion, kind, name, namespace or uid.
 */
export class HookFailure extends Error {
  override readonly name = 'HookFailure';
  readonly plugin: string;
  readonly hook: HookName;

  constructor({ plugin }: MountedHooks, hook: HookName, cause: unknown) {
    super(`${hook} of plugin "${plugin}" failed`, { cause });
    this.plugin = plugin;
    this.hook = hook;
  }
}

/**
 * Calls a hook and returns its result.
 * @throws ApiError with which the hook refuses the write, Timeout when the hook takes too long, ServiceUnavailable when
 * the plugin stops; HookFailure for everything else.
 */
export async function callHook(
  mounted: MountedHooks,
  hook: HookName,
  { subject, clock }: { readonly subject: HookSubject; readonly clock: Clock },
): Promise<unknown> {
  const { client, timeoutMs, plugin, signal: stopping } = mounted;
  const abort = new AbortController();
  const { signal } = abort;
  const stopped = (): ApiError =>
    new ApiError('ServiceUnavailable', `plugin "${plugin}" is being stopped`, { retryAfterSeconds: 1 });
  // The plugin may have stopped while the write waited for the hooks of another plugin.
  if (stopping.aborted) throw stopped();
  const onStop = (): void => abort.abort(stopped());
  const onLate = (): void =>
    abort.abort(new ApiError('Timeout', `${hook} of plugin "${plugin}" has not ended within ${timeoutMs / 1000} s`));
  const ended = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(toError(signal.reason)), { once: true });
  });
  stopping.addEventListener('abort', onStop, { once: true });
  const timer = clock.setTimeout(onLate, timeoutMs);
  try {
    return await Promise.race([run(mounted.hooks, hook, { ...subject, client, signal }), ended]);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw isRefusal(error) ? error : new HookFailure(mounted, hook, error);
  } finally {
    clock.clearTimeout(timer);
    stopping.removeEventListener('abort', onStop);
  }
}

/** Calls the hook. The function is async, so that an error that the hook throws synchronously becomes a rejection. */
async function run(hooks: AdmissionHooks, hook: HookName, call: object): Promise<unknown> {
  return hooks[hook]?.(call as UpdateAdmission);
}

function isRefusal(error: unknown): boolean {
  return isApiError(error) && refusals.has(error.reason);
}
