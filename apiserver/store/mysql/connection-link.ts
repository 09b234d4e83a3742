import { backoffDelayMs } from '@homeostat/controller-runtime';
import type { Clock } from '@homeostat/controller-runtime/api';

import { BoundedWait } from '../bounded-wait.ts';
import { StoreError, withoutConnection } from '../store-error.ts';

/** How long users wait for a connection from its loss on; after that they fail at once, until there is one again. */
const patienceMs = 5_000;

const backoff = { baseMs: 50, maxMs: 5_000 } as const;

/** What a link needs of a connection to any database. */
export interface LinkedConnection {
  readonly isLost: boolean;
  end(): Promise<void>;
}

export interface ConnectionLinkOptions<Connection> {
  /** Opens a connection and makes it ready. */
  readonly connect: () => Promise<Connection>;
  readonly clock: Clock;
  /** Told of the first failure after a loss, and of the connection that ended it. */
  readonly onDown?: (error: unknown) => void;
  readonly onUp?: () => void;
}

type State<Connection> =
  | { readonly kind: 'up'; readonly connection: Connection }
  | { readonly kind: 'down'; readonly sinceMs: number; lastError: Error | undefined }
  | { readonly kind: 'closed' };

/** One connection that comes back: when it is lost, the next is opened, with back-off and for as long as it takes. */
export class ConnectionLink<Connection extends LinkedConnection> {
  readonly #options: ConnectionLinkOptions<Connection>;
  /** For a connection. */
  readonly #users: BoundedWait;
  /** Between two attempts. */
  readonly #pause: BoundedWait;
  #state: State<Connection> = { kind: 'closed' };
  #running: Promise<void> = Promise.resolve();

  constructor(options: ConnectionLinkOptions<Connection>) {
    this.#options = options;
    this.#users = new BoundedWait(options.clock);
    this.#pause = new BoundedWait(options.clock);
  }

  /** The first connection. Rejects as `connect` does, without a second attempt. */
  async open(): Promise<Connection> {
    const connection = await this.#options.connect();
    this.#state = { kind: 'up', connection };
    return connection;
  }

  /** The connection, if there is one that is not known to be lost. */
  get current(): Connection | undefined {
    return this.#state.kind === 'up' && !this.#state.connection.isLost ? this.#state.connection : undefined;
  }

  /** The connection, which may be lost at any moment. Rejects when there is none in time. */
  async get(): Promise<Connection> {
    if (this.#state.kind === 'up' && this.#state.connection.isLost) this.#start();
    if (this.#state.kind === 'down') await this.#wait(this.#state.sinceMs);
    const state: State<Connection> = this.#state;
    switch (state.kind) {
      case 'up':
        return state.connection;
      case 'down':
        throw withoutConnection(state.lastError ?? new StoreError('io', 'the database does not answer'));
      case 'closed':
        throw new StoreError('closed', 'the store is not open');
    }
  }

  /** Ends the connection after what was asked of it, and stops opening others. Whoever waits is told. */
  async close(): Promise<void> {
    const before = this.#state;
    this.#state = { kind: 'closed' };
    this.#pause.release();
    this.#users.release();
    if (before.kind === 'up') await before.connection.end();
    await this.#running;
  }

  #start(): void {
    const state = { kind: 'down', sinceMs: this.#options.clock.monotonicMs(), lastError: undefined } as const;
    this.#state = state;
    this.#running = this.#reconnect(state);
  }

  async #reconnect(state: State<Connection> & { kind: 'down' }): Promise<void> {
    for (let failures = 1; this.#state === state; failures += 1) {
      try {
        await this.#connected(await this.#options.connect(), state);
      } catch (error) {
        if (failures === 1) this.#options.onDown?.(error);
        state.lastError = error instanceof Error ? error : new Error(String(error));
        if (this.#state === state) await this.#pause.wait(backoffDelayMs(failures, backoff));
      }
    }
  }

  async #connected(connection: Connection, state: State<Connection>): Promise<void> {
    // Closed meanwhile.
    if (this.#state !== state) return connection.end();
    this.#state = { kind: 'up', connection };
    this.#options.onUp?.();
    this.#users.release();
  }

  async #wait(sinceMs: number): Promise<void> {
    await this.#users.wait(sinceMs + patienceMs - this.#options.clock.monotonicMs());
  }
}
