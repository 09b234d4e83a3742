import type { Context, Middleware } from 'koa';
import { discardRest } from '../../decode/read-body.ts';
import type { RequestPermissions } from '../access/request-permissions.ts';
import { isOpenPath } from '../pages/health.ts';
import { requestAttributes } from './request-attributes.ts';
import type { AttributesParts } from './request-attributes.ts';

export interface AuthorizeParts extends AttributesParts {
  readonly permissions: RequestPermissions;
}

/** Refuses each request that the user may not make (403), before anything else is known about its path. */
export function authorize(parts: AuthorizeParts): Middleware {
  const { permissions } = parts;
  return function checkPermission(context, next): Promise<void> {
    if (isOpenPath(context.path)) return next();
    const reached = permissions.reach(context);
    if (reached === undefined) return goOn(context, next);
    return reached.then(() => goOn(context, next));
  };

  function goOn(context: Context, next: () => Promise<void>): Promise<void> {
    try {
      for (const attributes of requestAttributes(context, parts)) permissions.require(context, attributes);
    } catch (error) {
      discardRest(context.req);
      throw error;
    }
    return next();
  }
}
