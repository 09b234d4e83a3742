import { backoffDelayMs } from '@homeostat/controller-runtime';
import type { Clock } from '@homeostat/controller-runtime/api';

import type { PostgresConnection } from './postgres-connection.ts';
import { storeErrorFrom } from './postgres-errors.ts';
import { BoundedWait } from '../bounded-wait.ts';
import { StoreError, withoutConnection } from '../store-error.ts';

/** How long users wait for a connection from its loss on; after that they fail at once, until there is one again. */
const patienceMs = 5_000;

/** A server is promoted, or has recovered, at any moment: found soon after, and asked for cheaply until then. */
const backoff = { baseMs: 50, maxMs: 1_000 } as const;

export interface LinkOptions {
  /** Opens a connection and makes it ready. */
  readonly connect: () => Promise<PostgresConnection>;
  readonly clock: Clock;
  /** Whether a failure to connect may pass by itself. Else the link is broken, and says so to all. */
  readonly mayPass: (error: StoreError) => boolean;
}

type State =
  | { readonly kind: 'idle' }
  | { readonly kind: 'up'; readonly connection: PostgresConnection }
  | { readonly kind: 'connecting'; readonly sinceMs: number; lastError: StoreError }
  | { readonly kind: 'broken'; readonly error: StoreError };

/** One connection that comes back: when it is lost, the next is opened, with back-off and for as long as it takes. */
export class PostgresLink {
  readonly #options: LinkOptions;
  /** For a connection. */
  readonly #users: BoundedWait;
  /** Between two attempts. */
  readonly #pause: BoundedWait;
  #state: State = { kind: 'idle' };
  #running: Promise<void> = Promise.resolve();
  #ended: Promise<void> = Promise.resolve();

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#users = new BoundedWait(options.clock);
    this.#pause = new BoundedWait(options.clock);
  }

  /** The connection, which may be lost at any moment. Rejects when there is none in time. */
  async get(): Promise<PostgresConnection> {
    if (this.#state.kind === 'up' && this.#state.connection.isLost) this.#state = { kind: 'idle' };
    if (this.#state.kind === 'idle') this.#start();
    if (this.#state.kind === 'connecting') await this.#wait(this.#state.sinceMs);
    const state: State = this.#state;
    switch (state.kind) {
      case 'up':
        return state.connection;
      case 'connecting':
        throw withoutConnection(state.lastError);
      case 'broken':
        throw state.error;
      case 'idle':
        throw new StoreError('io', 'the connection to the database was lost');
    }
  }

  /** Ends a connection that is of no use any more, and opens the next. */
  discard(connection: PostgresConnection): void {
    connection.destroy();
    if (this.#state.kind === 'up' && this.#state.connection === connection) this.#start();
  }

  /** Takes another connection for what is asked from now on; the present one answers what it was asked. */
  reset(): void {
    const state = this.#state;
    if (state.kind !== 'up') return;
    this.#state = { kind: 'idle' };
    this.#ended = state.connection.end();
  }

  /** Ends the connection after what was asked of it, and stops opening others. Whoever waits is told. */
  async close(): Promise<void> {
    const before = this.#state;
    this.#state = { kind: 'broken', error: new StoreError('closed', 'the store is not open') };
    this.#pause.release();
    this.#users.release();
    if (before.kind === 'up') await before.connection.end();
    await this.#running;
    await this.#ended;
  }

  #start(): void {
    const lastError = new StoreError('io', 'the database does not answer');
    const state: State = { kind: 'connecting', sinceMs: this.#options.clock.monotonicMs(), lastError };
    this.#state = state;
    this.#running = this.#connect(state);
  }

  async #connect(state: State & { kind: 'connecting' }): Promise<void> {
    for (let failures = 1; this.#state === state; failures += 1) {
      try {
        await this.#connected(await this.#options.connect(), state);
      } catch (cause) {
        if (this.#state !== state) return;
        const error = storeErrorFrom(cause, 'cannot connect to the database');
        state.lastError = error;
        if (this.#options.mayPass(error)) await this.#pause.wait(backoffDelayMs(failures, backoff));
        else this.#become({ kind: 'broken', error });
      }
    }
  }

  async #connected(connection: PostgresConnection, state: State): Promise<void> {
    // Closed meanwhile.
    if (this.#state !== state) return connection.end();
    this.#become({ kind: 'up', connection });
    connection.onEnd(() => this.discard(connection));
  }

  #become(state: State): void {
    this.#state = state;
    this.#users.release();
  }

  async #wait(sinceMs: number): Promise<void> {
    await this.#users.wait(sinceMs + patienceMs - this.#options.clock.monotonicMs());
  }
}
