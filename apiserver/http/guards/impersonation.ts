import { ApiError } from '@homeostat/controller-runtime/api';
import type { Middleware } from 'koa';
import { discardRest } from '../../decode/read-body.ts';
import { clip } from '../../registry/object/resource-errors.ts';

/** Node gives header names in lower case. */
const prefix = 'impersonate-';

/**
 * Refuses requests that ask to run as another user (403), as `kubectl --as` sends them. A client that sends these
 * headers expects fewer rights than its own: a server that ignores them grants too many.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation
 */
export function refuseImpersonation(): Middleware {
  return function checkHeaders(context, next): Promise<void> {
    for (const name in context.headers) {
      if (!name.startsWith(prefix)) continue;
      discardRest(context.req);
      throw new ApiError(
        'Forbidden',
        `impersonation is not supported by this server: send no header ${clip(header(name))}`,
      );
    }
    return next();
  };
}

/** The header's name as the documentation of Kubernetes writes it: `Impersonate-User`. */
function header(name: string): string {
  return name.replaceAll(/(^|-)[a-z]/g, (letter) => letter.toUpperCase());
}
