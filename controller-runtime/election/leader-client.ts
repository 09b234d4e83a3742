import { isFormerLeader } from '../api/index.ts';
import type { ApiObject } from '../api/index.ts';
import type { Client } from '../client/client.ts';
import { ForwardingClient } from '../client/forwarding-client.ts';
import type { AnyWriteOptions, WriteCall } from '../client/forwarding-client.ts';
import type { Term } from './term.ts';

/**
 * A client that sends the leader's term with each write. Once the lease is released, deleted or held by another
 * process, the server refuses these writes, even if this process does not know that yet. The first refusal also ends
 * the term in this process. Once the term has ended in this process, the client sends no more writes.
 */
export class LeaderClient extends ForwardingClient {
  readonly #term: Term;

  constructor(client: Client, term: Term) {
    super(client);
    this.#term = term;
  }

  protected override async write<O extends AnyWriteOptions | undefined, R extends ApiObject | undefined>(
    _call: WriteCall,
    options: O,
    send: (options: O) => Promise<R>,
  ): Promise<R> {
    this.#term.check();
    try {
      // The property `leader` is last, so that the options of a reconciler cannot override it.
      return await send({ ...options, leader: this.#term.epoch });
    } catch (error) {
      if (isFormerLeader(error)) this.#term.end('the server refused a write', error);
      throw error;
    }
  }
}
