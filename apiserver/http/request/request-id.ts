import type { Middleware } from 'koa';

const wellFormed = /^[A-Za-z0-9._-]{1,64}$/;

/** Every request has an id: the client's Audit-Id when it is well formed, else a new one. It ties an answer to the log. */
export function requestId(makeId: () => string): Middleware {
  return function assignRequestId(context, next): Promise<void> {
    const given = context.get('Audit-Id');
    const id = wellFormed.test(given) ? given : makeId();
    context.state['requestId'] = id;
    context.set('Audit-Id', id);
    return next();
  };
}
