import type { Context } from 'koa';

/** Marks a request as current: memory has all writes that were acknowledged before the request. */
export function noteCurrent(context: Context): void {
  context.state.isCurrent = true;
}

/**
 * Returns the resourceVersion for which a read has to wait: the one that the client asks for. If the client asks for
 * none, returns `0` when the request has already waited for the latest revision: then the read need not wait. Otherwise
 * returns undefined: then the read has to wait for the latest revision.
 */
export function awaitedVersion(context: Context, asked: string | undefined): string | undefined {
  return asked === undefined && context.state.isCurrent ? '0' : asked;
}
