import type { ServerResponse } from 'node:http';
import type { Middleware } from 'koa';
import { mayBeCounted } from '../../decode/body-memory.ts';
import type { BodyMemory } from '../../decode/body-memory.ts';
import { addressBlock } from './address-block.ts';
import type { TrustedProxies } from './trusted-proxies.ts';

/**
 * Counts the memory of a body for the client's address, and releases the memory of a body once the request is over: the handler has settled, and the response is closed. Both
 * matter: a write continues after its client has disconnected, and an endpoint may stream a response made of its body.
 */
export function releaseBodies(memory: BodyMemory, proxies: TrustedProxies): Middleware {
  return function releaseBody(context, next) {
    if (!mayBeCounted(context.req)) return next();
    memory.nameClient(context.req, addressBlock(proxies.addressOf(context)));
    const handled = next();
    void Promise.allSettled([handled, closeOf(context.res)]).then(() => memory.release(context.req));
    return handled;
  };
}

function closeOf(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    if (response.closed) resolve();
    else response.once('close', () => resolve());
  });
}
