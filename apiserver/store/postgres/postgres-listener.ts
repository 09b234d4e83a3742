import type { Clock, Timer } from '@homeostat/controller-runtime/api';

import { PostgresConnection } from './postgres-connection.ts';
import { PostgresLink } from './postgres-link.ts';
import { listenCommand } from './postgres-statements.ts';

/** A notification that is lost costs this much time. */
const pollMs = 1_000;

export interface ListenerOptions {
  readonly url: string;
  readonly clock: Clock;
  /** Asks the database, whose answer is a hint as well. */
  readonly readRevision: () => Promise<number>;
  readonly onRevision: (revision: number) => void;
}

/** Hears of commits: from notifications, from a question at each new connection, and from one each second. */
export class PostgresListener {
  readonly #options: ListenerOptions;
  readonly #link: PostgresLink;
  #timer: Timer | undefined;
  #isClosed = false;
  #polling: Promise<void> = Promise.resolve();

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#link = new PostgresLink({ clock: options.clock, connect: () => this.#connect(), mayPass: () => true });
  }

  start(): void {
    this.#polling = this.#poll();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#options.clock.clearTimeout(this.#timer);
    await this.#link.close();
    await this.#polling;
  }

  async #connect(): Promise<PostgresConnection> {
    const connection = await PostgresConnection.open(this.#options.url);
    connection.onNotification((payload) => this.#options.onRevision(Number(payload)));
    const [row] = await connection.query<{ command: string }>(listenCommand);
    await connection.execute(row?.command ?? '');
    // What was committed while nobody listened.
    void this.#ask();
    return connection;
  }

  async #poll(): Promise<void> {
    await this.#link.get().catch(() => undefined);
    await this.#ask();
    if (this.#isClosed) return;
    this.#timer = this.#options.clock.setTimeout(() => this.start(), pollMs);
  }

  /** A question that fails is asked again. */
  async #ask(): Promise<void> {
    const revision = await this.#options.readRevision().catch(() => undefined);
    if (revision !== undefined && !this.#isClosed) this.#options.onRevision(revision);
  }
}
