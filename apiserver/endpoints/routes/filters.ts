import type { EndpointResponse, HandlerFunction } from './router.ts';
import type { ServerRequest } from './server-request.ts';

/**
 * Runs around a handler. It either returns a response of its own, or calls `next` with the request or a changed
 * request, and returns the response of `next` or a changed response.
 */
export type FilterFunction = (
  request: ServerRequest,
  next: HandlerFunction,
) => EndpointResponse | Promise<EndpointResponse>;

/** Changes a request before it is handled. */
export type BeforeFunction = (request: ServerRequest) => ServerRequest | Promise<ServerRequest>;

/** Changes a response before it is sent. */
export type AfterFunction = (
  request: ServerRequest,
  response: EndpointResponse,
) => EndpointResponse | Promise<EndpointResponse>;

/** Returns the response for a handler that threw or rejected. */
export type ErrorFunction = (error: unknown, request: ServerRequest) => EndpointResponse | Promise<EndpointResponse>;

/** Wraps a handler in its filters. The first filter is the outermost. */
export function withFilters(handler: HandlerFunction, filters: readonly FilterFunction[]): HandlerFunction {
  return filters.reduceRight<HandlerFunction>((next, filter) => (request) => filter(request, next), handler);
}

export function beforeFilter(change: BeforeFunction): FilterFunction {
  return (request, handler) => {
    const changed = change(request);
    return changed instanceof Promise ? changed.then(handler) : handler(changed);
  };
}

export function afterFilter(change: AfterFunction): FilterFunction {
  return (request, next) => {
    const answered = next(request);
    return answered instanceof Promise
      ? answered.then((response) => change(request, response))
      : change(request, answered);
  };
}

export function errorFilter(handles: (error: unknown) => boolean, answer: ErrorFunction): FilterFunction {
  const recover = (error: unknown, request: ServerRequest): EndpointResponse | Promise<EndpointResponse> => {
    if (handles(error)) return answer(error, request);
    throw error;
  };
  return (request, next) => {
    try {
      const answered = next(request);
      return answered instanceof Promise ? answered.catch((error: unknown) => recover(error, request)) : answered;
    } catch (error) {
      return recover(error, request);
    }
  };
}
