import { checkMediaType, isAccepted, mediaType } from './media-type.ts';
import type { ServerRequest } from './server-request.ts';

/**
 * The reason why a route does not match a request, and the expected media types. If no other route matches, the client
 * receives both in the response.
 */
export interface Mismatch {
  readonly reason: 'NotAcceptable' | 'UnsupportedMediaType' | 'NotFound';
  /** The media types that the route accepts or returns. */
  readonly types: readonly string[];
}

/** A condition of a route, in addition to its method and path. A predicate is immutable. */
export interface RequestPredicate {
  /** Returns undefined when the request meets the condition; otherwise the reason why it does not. */
  mismatch(request: ServerRequest): Mismatch | undefined;
  /** Returns a predicate that a request meets when it meets both predicates. */
  and(other: RequestPredicate): RequestPredicate;
  /** Returns a predicate that a request meets when it meets at least one of the two predicates. */
  or(other: RequestPredicate): RequestPredicate;
  /**
   * Returns a predicate that a request meets when it does not meet this one. If a request meets all other conditions of
   * a route, but not the returned predicate, and no other route matches the path and the method of the request, the
   * client receives a 404.
   */
  negate(): RequestPredicate;
}

/**
 * Returns a predicate that a request meets when the client accepts one of these media types. If a request meets all
 * other conditions of the route, but not this one, and no other route matches, the client receives a 406.
 */
export function accept(...types: readonly string[]): RequestPredicate {
  const known = checkedTypes('accept', types);
  const refusal: Mismatch = Object.freeze({ reason: 'NotAcceptable', types: known });
  return createPredicate((request) => {
    const header = request.header('accept');
    return known.some((type) => isAccepted(header, type)) ? undefined : refusal;
  });
}

/**
 * Returns a predicate that a request meets when its body has one of these media types. If a request meets all other
 * conditions of the route, but not this one, and no other route matches the path and the method of the request, the
 * client receives a 415.
 */
export function contentType(...types: readonly string[]): RequestPredicate {
  const known = checkedTypes('contentType', types);
  const refusal: Mismatch = Object.freeze({ reason: 'UnsupportedMediaType', types: known });
  return createPredicate((request) =>
    known.includes(mediaType(request.header('content-type'))) ? undefined : refusal,
  );
}

/**
 * Returns a predicate that a request meets when the function returns true. Otherwise the route does not match. The
 * function is synchronous.
 */
export function predicate(holds: (request: ServerRequest) => boolean): RequestPredicate {
  if (typeof holds !== 'function') throw new TypeError('the argument of predicate must be a function of the request');
  return createPredicate((request) => {
    const answer: unknown = holds(request);
    if (typeof answer !== 'boolean') throw new TypeError('a predicate of a route must return true or false');
    return answer ? undefined : notFound;
  });
}

const notFound: Mismatch = Object.freeze({ reason: 'NotFound', types: Object.freeze([]) });

function createPredicate(mismatch: RequestPredicate['mismatch']): RequestPredicate {
  return Object.freeze<RequestPredicate>({
    mismatch,
    and: (other) => createPredicate((request) => worst(mismatch(request), other.mismatch(request))),
    or: (other) =>
      createPredicate((request) => {
        const first = mismatch(request);
        const second = first === undefined ? undefined : other.mismatch(request);
        return second === undefined ? undefined : nearest(first, second);
      }),
    negate: () => createPredicate((request) => (mismatch(request) === undefined ? notFound : undefined)),
  });
}

const ranks: Readonly<Record<Mismatch['reason'], number>> = { NotAcceptable: 1, UnsupportedMediaType: 2, NotFound: 3 };

function rankOf(mismatch: Mismatch | undefined): number {
  return mismatch === undefined ? 0 : ranks[mismatch.reason];
}

function worst(a: Mismatch | undefined, b: Mismatch | undefined): Mismatch | undefined {
  return rankOf(b) > rankOf(a) ? b : a;
}

/**
 * Returns the more useful of two reasons: NotAcceptable before UnsupportedMediaType, and NotFound last. Two equal
 * reasons become one, with the media types of both.
 */
export function nearest(a: Mismatch | undefined, b: Mismatch): Mismatch {
  if (a === undefined || rankOf(b) < rankOf(a)) return b;
  return a.reason === b.reason ? { reason: a.reason, types: [...new Set([...a.types, ...b.types])] } : a;
}

function checkedTypes(name: string, types: readonly string[]): readonly string[] {
  if (types.length === 0) throw new TypeError(`${name} takes at least one media type`);
  return Object.freeze(types.map(checkMediaType));
}
