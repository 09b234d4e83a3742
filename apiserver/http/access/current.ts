import type { Context } from 'koa';

/** Marks a request as current: memory has all writes that were acknowledged before the request. */
export function noteCurrent(context: Context): void {
  context.state.isCurrent = true;
}

/**
 * Returns the resourceVersion for which a read has to wait: the one that the client asks for. If the client asks for
 * none, returns `0` (no wait) when the request has already waited for the latest revision, otherwise undefined.
 */
export function awaitedVersion(context: Context, asked: string | undefined): string | undefined {
  return asked === undefined && context.state.isCurrent ? '0' : asked;
}
