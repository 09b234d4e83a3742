import { backoffDelayMs } from '@homeostat/controller-runtime';
import type { Clock } from '@homeostat/controller-runtime/api';

import { BoundedWait } from './bounded-wait.ts';
import { StoreError, withoutConnection } from '../store-error.ts';

/**
 * The time for which callers wait for another connection after the loss of one. After this time, calls fail
 * immediately, until there is a connection again.
 */
const patienceMs = 5_000;

/**
 * The pause between two attempts, which grows up to a second: a server may be promoted or recover at any time, and one
 * attempt in each second is cheap.
 */
const backoff = { baseMs: 50, maxMs: 1_000 } as const;

/** The members of a database connection that {@link ConnectionLink} needs to watch and close it. */
export interface LinkedConnection {
  readonly isLost: boolean;
  /** Waits for pending requests, then closes the connection. */
  end(): Promise<void>;
  /** Closes the connection immediately. */
  destroy(): void;
  /**
   * Calls `listen` when the connection ends. If the connection has this method, the link reconnects immediately;
   * otherwise, at the next use.
   */
  onEnd?(listen: () => void): void;
}

export interface LinkParts<Connection> {
  /** Opens a connection, and prepares it for use. */
  readonly connect: () => Promise<Connection>;
  readonly clock: Clock;
}

export interface LinkOptions {
  /**
   * Returns true when the link should try again after this error. Otherwise the link is broken, and all callers get the
   * error. `wasConnected` is true when the link has had a connection before. Default: always true.
   */
  readonly mayPass?: (error: StoreError, wasConnected: boolean) => boolean;
  /** Called with the error of the first failed attempt to connect again. */
  readonly onDown?: (error: StoreError) => void;
  /** Called after each new connection except the first one. */
  readonly onUp?: () => void;
}

type State<Connection> =
  | { readonly kind: 'idle' }
  | { readonly kind: 'up'; readonly connection: Connection }
  | { readonly kind: 'down'; readonly sinceMs: number; lastError: StoreError }
  | { readonly kind: 'broken'; readonly error: StoreError };

type Down = State<never> & { readonly kind: 'down' };

/**
 * A connection that is opened again when it is lost. Attempts are repeated with back-off until one succeeds, or until
 * `mayPass` refuses another attempt.
 */
export class ConnectionLink<Connection extends LinkedConnection> {
  readonly #parts: LinkParts<Connection>;
  readonly #options: LinkOptions;
  /** The callers that are waiting for a connection. */
  readonly #users: BoundedWait;
  /** The pause between two attempts. */
  readonly #pause: BoundedWait;
  #state: State<Connection> = { kind: 'idle' };
  #wasConnected = false;
  #running: Promise<void> = Promise.resolve();
  #ended: Promise<void> = Promise.resolve();

  constructor(parts: LinkParts<Connection>, options: LinkOptions = {}) {
    this.#parts = parts;
    this.#options = options;
    this.#users = new BoundedWait(parts.clock);
    this.#pause = new BoundedWait(parts.clock);
  }

  /**
   * Opens the first connection. Attempts are repeated until one succeeds, or until one fails later than 5 s after this
   * call. A running attempt is never aborted, even if it takes longer, for example because of a migration.
   */
  async open(): Promise<Connection> {
    const { clock } = this.#parts;
    const untilMs = clock.monotonicMs() + patienceMs;
    this.#start(() => clock.monotonicMs() < untilMs);
    await this.#running;
    return this.get();
  }

  /** The connection; undefined when there is none, or when it is known to be lost. */
  get current(): Connection | undefined {
    return this.#state.kind === 'up' && !this.#state.connection.isLost ? this.#state.connection : undefined;
  }

  /**
   * Resolves with a connection, which may be lost at any time. Rejects when there is still no connection 5 s after the
   * loss of the last one. Rejects immediately when no further attempt will be made.
   */
  async get(): Promise<Connection> {
    if (this.#state.kind === 'idle' || (this.#state.kind === 'up' && this.#state.connection.isLost)) this.#start();
    if (this.#state.kind === 'down') {
      await this.#users.wait(this.#state.sinceMs + patienceMs - this.#parts.clock.monotonicMs());
    }
    const state: State<Connection> = this.#state;
    switch (state.kind) {
      case 'up':
        return state.connection;
      case 'down':
        throw withoutConnection(state.lastError);
      case 'broken':
        throw state.error;
      case 'idle':
        throw new StoreError('io', 'the connection to the database was lost');
    }
  }

  /** Destroys an unusable connection. If it is the current one, opens the next one. */
  discard(connection: Connection): void {
    connection.destroy();
    if (this.#state.kind === 'up' && this.#state.connection === connection) this.#start();
  }

  /** Uses another connection for later requests. The current connection completes its pending requests. */
  reset(): void {
    const state = this.#state;
    if (state.kind !== 'up') return;
    this.#state = { kind: 'idle' };
    this.#ended = state.connection.end();
  }

  /**
   * Closes the connection after its pending requests, and opens no other connection. Callers that wait for a connection
   * get StoreError `closed`.
   */
  async close(): Promise<void> {
    const before = this.#state;
    this.#become({ kind: 'broken', error: new StoreError('closed', 'the store is not open') });
    this.#pause.release();
    if (before.kind === 'up') await before.connection.end();
    await this.#running;
    await this.#ended;
  }

  #start(mayRepeat: () => boolean = () => true): void {
    const lastError = new StoreError('io', 'the database does not respond');
    const state: Down = { kind: 'down', sinceMs: this.#parts.clock.monotonicMs(), lastError };
    this.#state = state;
    this.#running = this.#connect(state, mayRepeat);
  }

  async #connect(state: Down, mayRepeat: () => boolean): Promise<void> {
    const { mayPass = () => true, onDown } = this.#options;
    for (let failures = 1; this.#state === state; failures += 1) {
      try {
        await this.#connected(await this.#parts.connect(), state);
      } catch (cause) {
        if (this.#state !== state) return;
        const error = connectError(cause);
        state.lastError = error;
        if (failures === 1 && this.#wasConnected) onDown?.(error);
        if (mayPass(error, this.#wasConnected) && mayRepeat())
          await this.#pause.wait(backoffDelayMs(failures, backoff));
        else this.#become({ kind: 'broken', error });
      }
    }
  }

  async #connected(connection: Connection, state: Down): Promise<void> {
    // If the state has changed, the link was closed meanwhile.
    if (this.#state !== state) return connection.end();
    if (this.#wasConnected) this.#options.onUp?.();
    this.#wasConnected = true;
    this.#become({ kind: 'up', connection });
    connection.onEnd?.(() => this.discard(connection));
  }

  #become(state: State<Connection>): void {
    this.#state = state;
    this.#users.release();
  }
}

function connectError(cause: unknown): StoreError {
  if (cause instanceof StoreError) return cause;
  const { message } = cause instanceof Error ? cause : new Error(String(cause));
  return new StoreError('io', `cannot connect to the database: ${message}`, { cause });
}
