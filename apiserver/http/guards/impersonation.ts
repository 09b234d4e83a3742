import { ApiError } from '@homeostat/controller-runtime/api';
import type { Middleware } from 'koa';
import { discardRest } from '../../decode/read-body.ts';
import { clip } from '../../registry/object/resource-errors.ts';

/** Node gives the names of headers in lower case. */
const prefix = 'impersonate-';

/**
 * Refuses requests that ask to be judged as another user (403), as `kubectl --as` sends them. A client that sends such headers
 * expects fewer rights than its own: a server that ignores them gives it too many.
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

/** `Impersonate-User`, as the documents of Kubernetes write it. */
function header(name: string): string {
  return name.replaceAll(/(^|-)[a-z]/g, (letter) => letter.toUpperCase());
}
