import type { Context } from 'koa';

const key = 'isCurrent';

/** Notes that memory has everything that was acknowledged before this request. */
export function noteCurrent(context: Context): void {
  context.state[key] = true;
}

/**
 * Returns the resourceVersion that a read has to wait for: the one that the client asks for; `0`, and so none, when the request
 * has waited for the latest already.
 */
export function awaitedVersion(context: Context, asked: string | undefined): string | undefined {
  return asked === undefined && context.state[key] === true ? '0' : asked;
}
