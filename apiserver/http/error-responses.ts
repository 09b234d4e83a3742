import { ApiError, isApiError } from '@homeostat/controller-runtime/api';
import type { Logger, StatusReason } from '@homeostat/controller-runtime/api';
import type { Context, Middleware } from 'koa';
import { wantsProblem } from './request/accept.ts';
import { shortPath } from './request/refusal-log.ts';

/**
 * The first middleware: whatever is thrown behind it becomes a Status (or RFC 9457) response. An error that is no ApiError is
 * a bug: logged with the request's id, and without inner text in the response.
 */
export function errorResponses(logger: Logger): Middleware {
  return async function answerErrors(context, next): Promise<void> {
    try {
      await next();
    } catch (error) {
      answerError(context, error, logger);
    }
  };
}

function answerError(context: Context, error: unknown, logger: Logger): void {
  try {
    writeError(context, asApiError(error, context, logger));
  } catch (cause) {
    // A plugin's own error, which calls itself an ApiError and is no Status: without a code, or with details that are no JSON.
    writeError(context, internalError(cause, context, logger));
  }
}

function asApiError(error: unknown, context: Context, logger: Logger): ApiError {
  return isApiError(error) ? error : internalError(error, context, logger);
}

function internalError(error: unknown, context: Context, logger: Logger): ApiError {
  const requestId: unknown = context.state['requestId'];
  if (isOutOfDescriptors(error)) {
    const message = 'the server has no file descriptors left at the moment, please try again later';
    return new ApiError('ServiceUnavailable', message, { cause: error, retryAfterSeconds: 1 });
  }
  logger.error({ err: error, requestId, method: context.method, path: shortPath(pathOf(context)) }, 'request failed');
  return new ApiError('InternalError', `Internal error occurred; request id ${String(requestId)}`);
}

function isOutOfDescriptors(error: unknown): boolean {
  const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined;
  return code === 'EMFILE' || code === 'ENFILE';
}

/** Empty for a target that is no URL, so that the error is reported all the same. */
function pathOf(context: Context): string {
  try {
    return context.path;
  } catch {
    return '';
  }
}

/** Writes the error in the form that the client accepts; drops headers that were meant for a success. */
function writeError(context: Context, error: ApiError): void {
  const status = ApiError.prototype.toStatus.call(error);
  context.status = error.code;
  if (error.retryAfterSeconds !== undefined) context.set('Retry-After', String(error.retryAfterSeconds));
  if (error.reason === 'Unauthorized') context.set('WWW-Authenticate', 'Bearer');
  const problem = wantsProblem(context.get('Accept'));
  context.set('Content-Type', problem ? 'application/problem+json' : 'application/json');
  context.body = Buffer.from(JSON.stringify(problem ? problemOf(error, context) : status));
  if (unreadReasons.has(error.reason)) closeOnceRead(context);
}

/** Reasons that a body may be refused for before it has come. */
const unreadReasons: ReadonlySet<StatusReason> = new Set(['RequestEntityTooLarge', 'ServiceUnavailable']);

/**
 * The client may still send what is refused, and be one that wants its connection closed: node would close it with the
 * answer, the connection would be reset under the client, and the answer lost.
 */
function closeOnceRead({ req, res }: Context): void {
  if (res.shouldKeepAlive || req.complete) return;
  res.shouldKeepAlive = true;
  const close = (): void => req.socket.destroySoon();
  req.once('end', () => (res.closed ? close() : res.once('close', close)));
}

/** RFC 9457; `causes` and `reason` are extension members. */
function problemOf(error: ApiError, context: Context): Record<string, unknown> {
  return {
    type: 'about:blank',
    title: error.reason,
    status: error.code,
    detail: error.message,
    instance: pathOf(context),
    reason: error.reason,
    causes: error.causes,
  };
}
