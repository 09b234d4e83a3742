import { ApiError } from '@homeostat/controller-runtime/api';
import type { Context, Middleware } from 'koa';
import type { BodyCodec } from '../../decode/body-codec.ts';
import { isBodiless } from '../../endpoints/serving/answer.ts';
import type { Answer } from '../../endpoints/serving/answer.ts';
import { asApiError, EndpointCall, internalError, logFailure } from '../../endpoints/serving/endpoint-call.ts';
import type { CallSurroundings } from '../../endpoints/serving/endpoint-call.ts';
import type { EndpointTable } from '../../endpoints/serving/endpoint-table.ts';
import type { RouteResult } from '../../endpoints/routes/find-route.ts';
import type { MountedEntry } from '../../endpoints/serving/mount.ts';
import type { Mismatch } from '../../endpoints/routes/predicates.ts';
import { RequestSource } from '../../endpoints/serving/request-source.ts';
import type { RequestUser } from '../../endpoints/routes/server-request.ts';
import type { UserInfo } from '../../identity/user-info.ts';
import type { RequestPermissions } from '../access/request-permissions.ts';
import { callerOf } from '../request/request-state.ts';
import { pathNotFound, refuseMethod } from '../request/path-errors.ts';

export interface EndpointParts extends CallSurroundings {
  readonly bodies: BodyCodec;
  readonly endpoints: EndpointTable;
  readonly permissions: RequestPermissions;
  readonly connections: { readonly isStopping: boolean };
}

type Found = Extract<RouteResult<MountedEntry>, { readonly kind: 'found' }>;

/** Serves the endpoints of plugins (specification, section 4.3). The generated paths of kinds take precedence. */
export function endpointRoutes(parts: EndpointParts): Middleware {
  const { bodies } = parts;
  return function routeEndpoint(context, next) {
    const { path, querystring: queryString, req: incoming, res: outgoing } = context;
    const user = (): RequestUser => shownUser(callerOf(context));
    const source = new RequestSource({ incoming, outgoing, path, queryString, bodies, user });
    const result = parts.endpoints.find(context.method, source);
    if (result === undefined) return next();
    if (parts.connections.isStopping) throw unavailable('the server is shutting down');
    if (result.kind === 'found') return callEndpoint(context, result, { ...parts, source });
    throw refusalOf(context, result, parts);
  };
}

function callEndpoint(
  context: Context,
  { entry, handler, request }: Found,
  parts: EndpointParts & { readonly source: RequestSource },
): Promise<void> | void {
  const { owner } = entry;
  if (!owner.isOpen) throw unavailable(`the plugin "${owner.name}" is starting`);
  const { source } = parts;
  const call = new EndpointCall(
    { entry, handler, request, source, outgoing: context.res, requestId: context.state.id },
    parts,
  );
  const answer = call.answer();
  const send = (ready: Answer | undefined): void => {
    sendAnswer(context, call, ready);
    // A stream ends when the user loses the permission for it. For other responses, permissions are not checked again.
    if (call.isStreaming) parts.permissions.keepOpen(context, (error) => call.stopStream(error));
  };
  return answer instanceof Promise ? answer.then(send) : send(answer);
}

function shownUser({ username, groups, uid }: UserInfo): RequestUser {
  return Object.freeze({ username, groups, ...(uid === undefined ? {} : { uid }) });
}

/**
 * Sends a response. Complete bodies are left to koa, which sends them with the other responses of this turn of the
 * event loop.
 */
function sendAnswer(context: Context, call: EndpointCall, answer: Answer | undefined): void {
  const whole = answer === undefined ? undefined : call.begin(answer);
  if (whole === undefined) context.respond = false;
  else sendWhole(context, whole);
}

function sendWhole(context: Context, body: string | Uint8Array): void {
  const { res, response } = context;
  const isEmpty = body.length === 0 || isBodiless(res.statusCode);
  if (isEmpty) return sendEmpty(context);
  // The status is set again, because otherwise koa would replace it by its own default.
  response.status = res.statusCode;
  response.body = typeof body === 'string' ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
}

/**
 * Sends a response without a body. koa must not send it, because koa would set a Content-Type, and would remove the
 * Content-Length of a 205. A 205 needs a Content-Length (RFC 9110, 15.3.6): without this header, Node would have to
 * close the connection after the response.
 */
function sendEmpty(context: Context): void {
  const { res } = context;
  context.respond = false;
  if (res.statusCode !== 204 && res.statusCode !== 304) res.setHeader('Content-Length', 0);
  res.end();
}

function refusalOf(
  context: Context,
  result: Exclude<RouteResult<MountedEntry>, { readonly kind: 'found' }>,
  { logger }: EndpointParts,
): ApiError {
  switch (result.kind) {
    case 'method':
      return refuseMethod(context, withHead(result.allowed));
    case 'mismatch':
      return mismatchError(result.mismatch);
    case 'failed': {
      const requestId = context.state.id;
      const known = asApiError(result.error);
      if (known !== undefined) return known;
      logFailure(logger, { ...result, requestId }, { err: result.error, message: 'a predicate of an endpoint failed' });
      return internalError(requestId);
    }
  }
}

/** Returns the methods, with HEAD added if GET is among them. */
function withHead(methods: readonly string[]): readonly string[] {
  return [...new Set(methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))];
}

function mismatchError({ reason, types }: Mismatch): ApiError {
  if (reason === 'NotFound') return pathNotFound();
  const list = types.join(', ');
  const message =
    reason === 'NotAcceptable'
      ? `only the following media types are accepted: ${list}`
      : `the body of the request was in an unknown format - accepted media types include: ${list}`;
  return new ApiError(reason, message);
}

function unavailable(message: string): ApiError {
  return new ApiError('ServiceUnavailable', message, { retryAfterSeconds: 1 });
}
