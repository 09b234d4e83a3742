import type { ServerResponse } from 'node:http';
import type { Context } from 'koa';
import { mayBeCounted } from '../../decode/body-memory.ts';
import type { BodyMemory } from '../../decode/body-memory.ts';
import { addressBlock } from './address-block.ts';
import type { TrustedProxies } from './trusted-proxies.ts';

/**
 * Counts the memory of a body for the client's address, and releases the memory of a body once the request is over: the handler has settled, and the response is closed. Both
 * matter: a write continues after its client has disconnected, and an endpoint may stream a response made of its body.
 */
export class BodyRelease {
  readonly #memory: BodyMemory;
  readonly #proxies: TrustedProxies;

  constructor(memory: BodyMemory, proxies: TrustedProxies) {
    this.#memory = memory;
    this.#proxies = proxies;
  }

  /** Calls the handler of a request. */
  around(context: Context, handle: (context: Context) => Promise<void>): Promise<void> {
    if (!mayBeCounted(context.req)) return handle(context);
    const { req, state } = context;
    this.#memory.nameClient(req, addressBlock(this.#proxies.addressOf(context)));
    const handled = Promise.resolve(context).then(handle);
    void Promise.allSettled([handled, closeOf(state.outgoing)]).then(() => this.#memory.release(req));
    return handled;
  }
}

function closeOf(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    if (response.closed) resolve();
    else response.once('close', () => resolve());
  });
}
