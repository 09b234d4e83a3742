import { ApiError, isApiError } from '@homeostat/controller-runtime/api';
import type { Logger, StatusReason } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import { wantsProblem } from './request/accept.ts';
import { shortPath } from './request/refusal-log.ts';

/**
 * Converts an error to a response with a Status (or in the format of RFC 9457). An error that is not an ApiError is a
 * bug, unless the process has no file descriptors left (503). A bug is logged with the request's id, and the response
 * does not show its text.
 */
export function answerError(context: Context, error: unknown, logger: Logger): void {
  try {
    writeError(context, asApiError(error, context, logger));
  } catch (cause) {
    // A plugin may define its own class named ApiError. This error is of such a class, and cannot be written as a
    // Status, because it has no code, or its details are not JSON.
    writeError(context, internalError(cause, context, logger));
  }
}

function asApiError(error: unknown, context: Context, logger: Logger): ApiError {
  return isApiError(error) ? error : internalError(error, context, logger);
}

function internalError(error: unknown, context: Context, logger: Logger): ApiError {
  const { id: requestId } = context.state;
  if (isOutOfDescriptors(error)) {
    const message = 'the server has no file descriptors left at the moment, please try again later';
    return new ApiError('ServiceUnavailable', message, { cause: error, retryAfterSeconds: 1 });
  }
  logger.error({ err: error, requestId, method: context.method, path: shortPath(pathOf(context)) }, 'request failed');
  return new ApiError('InternalError', `Internal error occurred; request id ${requestId}`);
}

function isOutOfDescriptors(error: unknown): boolean {
  const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined;
  return code === 'EMFILE' || code === 'ENFILE';
}

/** Returns the path of the request; '' if the request target is not a URL, so that the error can still be reported. */
function pathOf(context: Context): string {
  try {
    return context.path;
  } catch {
    return '';
  }
}

/** Writes the error in the format that the client accepts. */
function writeError(context: Context, error: ApiError): void {
  const status = ApiError.prototype.toStatus.call(error);
  context.status = error.code;
  // These headers describe the response that the request would have had. A browser must not cache the error.
  for (const header of ['ETag', 'Location', 'Content-Disposition', 'Content-Encoding']) context.remove(header);
  context.set('Cache-Control', 'no-store');
  if (error.retryAfterSeconds !== undefined) context.set('Retry-After', String(error.retryAfterSeconds));
  if (error.reason === 'Unauthorized') context.set('WWW-Authenticate', 'Bearer');
  const problem = wantsProblem(context.get('Accept'));
  context.set('Content-Type', problem ? 'application/problem+json' : 'application/json');
  context.body = Buffer.from(JSON.stringify(problem ? problemOf(error, context) : status));
  if (unreadReasons.has(error.reason)) closeOnceRead(context);
}

/** The reasons for which the server may stop reading a body, so that the client may still be sending it. */
const unreadReasons: ReadonlySet<StatusReason> = new Set(['RequestEntityTooLarge', 'ServiceUnavailable']);

/**
 * Closes the connection once the body is read. If the client has asked for the connection to be closed, Node would
 * close it right after the response. If the client is still sending the body, such a close would reset the connection,
 * and the client would lose the response.
 */
function closeOnceRead({ req, res }: Context): void {
  if (res.shouldKeepAlive || req.complete) return;
  res.shouldKeepAlive = true;
  const close = (): void => req.socket.destroySoon();
  req.once('end', () => (res.closed ? close() : res.once('close', close)));
}

/** Returns the error in the format of RFC 9457, with the extension members `causes` and `reason`. */
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
