import { ApiError } from '@homeostat/controller-runtime/api';
import type { Context, Middleware } from 'koa';
import { requireRead } from '../response/cacheable-answer.ts';
import type { DebugPage } from './debug-page.ts';
import { withoutTrailingSlash } from './health.ts';
import { integerOf } from '../request/query.ts';
import { sendJson } from '../response/responses.ts';

const defaultLimit = 500;
/** The largest limit that a request can set. A larger limit counts as this one. */
const maxLimit = 10_000;

/**
 * Matches `/debug/<page>`, and `/debug/<page>/<item>` for one item of a page. If a path contains a
 * character that this pattern does not allow, no page is called.
 */
const pagePath = /^\/debug\/([a-z0-9-]{1,63})(?:\/([a-z0-9/.-]{1,512}))?$/;

/**
 * Serves the debug pages. They are looked up at each request, because pages are added and removed while the server
 * runs.
 */
export function debugRoutes(pages: readonly DebugPage[]): Middleware {
  return async function answerDebug(context, next) {
    if (!context.path.startsWith('/debug/')) {
      await next();
      return;
    }
    const [, name, item] = pagePath.exec(withoutTrailingSlash(context.path)) ?? [];
    const page = pages.find((each) => each.name === name);
    if (page === undefined) {
      await next();
      return;
    }
    requireRead(context);
    const answer = item === undefined ? await page.index() : page.item(item, readLimit(context));
    if (answer === undefined) throw new ApiError('NotFound', `${page.name} "${item}" not found`);
    sendJson(context, answer);
  };
}

function readLimit(context: Context): number {
  return Math.min(integerOf(context.query, 'limit', 1) ?? defaultLimit, maxLimit);
}
