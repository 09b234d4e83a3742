import type { Clock } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import { describeRequest, InterceptedClient } from '../fakes/intercepted-client.ts';
import type { ClientRequest } from '../fakes/intercepted-client.ts';
import type { ConvergenceOptions } from './convergence-options.ts';

export interface InvariantParts {
  readonly invariants: NonNullable<ConvergenceOptions['invariants']>;
  /** The client that is passed to the invariants. */
  readonly client: Client;
  readonly clock: Clock;
  readonly random: () => number;
}

/** Checks the invariants after each write that succeeds. */
export class Invariants {
  readonly #parts: InvariantParts;
  #broken: Error | undefined;

  constructor(parts: InvariantParts) {
    this.#parts = parts;
  }

  /** Returns the client, with a check of the invariants after each write that succeeds. */
  watching(client: Client): Client {
    const { clock, random, invariants } = this.#parts;
    if (Object.keys(invariants).length === 0) return client;
    const request = async <R>(sent: ClientRequest, send: () => Promise<R>): Promise<R> => {
      const answer = await send();
      if (sent.isWrite) await this.#ask(sent);
      return answer;
    };
    const interceptor = { request, watch: passEvents };
    return new InterceptedClient({ client, interceptor, clock, random });
  }

  /**
   * Throws the error of the first broken invariant. The error names the invariant and the write after which its check
   * failed.
   */
  check(): void {
    if (this.#broken !== undefined) throw this.#broken;
  }

  async #ask(request: ClientRequest): Promise<void> {
    for (const [name, holds] of Object.entries(this.#parts.invariants)) {
      try {
        await holds(this.#parts.client);
      } catch (cause) {
        const reason = cause instanceof Error ? cause.message : String(cause);
        const message = `the invariant "${name}" was broken after ${describeRequest(request)}: ${reason}`;
        this.#broken ??= new Error(message, { cause });
      }
    }
  }
}

function passEvents<E>(
  _request: ClientRequest,
  open: (signal: AbortSignal) => AsyncIterable<E>,
  signal: AbortSignal = new AbortController().signal,
): AsyncIterable<E> {
  return open(signal);
}
