import type { Client } from '@homeostat/controller-runtime';
import { ApiError, isApiError } from '@homeostat/controller-runtime/api';
import type { ApiObject, Clock, ModelDescriptor, StatusReason } from '@homeostat/controller-runtime/api';
import type { AdmissionHooks, UpdateAdmission } from './admission.ts';

/** The hooks of one plugin for one kind. */
export interface MountedHooks {
  readonly plugin: string;
  /** In this version hooks get objects. */
  readonly model: ModelDescriptor;
  readonly hooks: AdmissionHooks;
  readonly timeoutMs: number;
  readonly client: Client;
  /** Aborts when the plugin stops. */
  readonly signal: AbortSignal;
}

export type HookName = keyof AdmissionHooks;

/** What the call is about. */
export type HookSubject = Pick<UpdateAdmission, 'object' | 'dryRun' | 'warn' | 'subresource'> & {
  readonly old?: ApiObject | undefined;
};

/**
 * What a hook may refuse a write with. Others, NotFound, Conflict and their like, say something of the object that is being
 * written, on which clients act: from a hook they are the answer to something that it asked for itself.
 */
const refusals: ReadonlySet<StatusReason> = new Set<StatusReason>([
  'BadRequest',
  'Forbidden',
  'Invalid',
  'ServiceUnavailable',
  'TooManyRequests',
]);

/** A hook threw what is no refusal, or answered what is no object. */
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
 * What a hook answers.
 * @throws ApiError with which it refuses the write, Timeout past its deadline, ServiceUnavailable when its plugin stops;
 * HookFailure for everything else.
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
  // While the write waited for the hooks of another plugin.
  if (stopping.aborted) throw stopped();
  const onStop = (): void => abort.abort(stopped());
  const onLate = (): void =>
    abort.abort(new ApiError('Timeout', `${hook} of plugin "${plugin}" has not ended within ${timeoutMs / 1000} s`));
  const ended = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as ApiError), { once: true });
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

/** Asynchronous, so that what a hook throws at once is a rejection as well. */
async function run(hooks: AdmissionHooks, hook: HookName, call: object): Promise<unknown> {
  return hooks[hook]?.(call as UpdateAdmission);
}

function isRefusal(error: unknown): boolean {
  return isApiError(error) && refusals.has(error.reason);
}
