import type { Clock, Logger } from '@homeostat/controller-runtime/api';

import { EtcdConnection } from './etcd-connection.ts';
import { isExpiredToken, isLostConnection, storeErrorFrom } from './etcd-errors.ts';
import { type EtcdDatabase, nameOf } from './etcd-url.ts';
import { ConnectionLink } from '../server/connection-link.ts';
import type { StoreError, StoreErrorCode } from '../store-error.ts';

/** The maximum number of attempts at a request that is safe to repeat. */
const maxAttempts = 4;

/** The codes of permanent errors: after one of them, an open store does not connect again. */
const lasting: ReadonlySet<StoreErrorCode> = new Set<StoreErrorCode>(['diverged', 'newer', 'corrupt']);

export interface EtcdLinkParts {
  readonly database: EtcdDatabase;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called before a new connection is used. If this call rejects with the code `io`, the next member is tried. */
  readonly prepare: (connection: EtcdConnection) => Promise<void>;
}

/** A connection to one of the members. When it is lost, connects to the next member that works. */
export class EtcdLink {
  readonly name: string;
  readonly #parts: EtcdLinkParts;
  readonly #link: ConnectionLink<EtcdConnection>;
  /** The position of the member to try first. */
  #first = 0;

  constructor(parts: EtcdLinkParts) {
    const { database, clock, logger } = parts;
    this.name = nameOf(database);
    this.#parts = parts;
    this.#link = new ConnectionLink(
      { connect: () => this.#connect(), clock },
      {
        // Before the first connection, only errors that a starting cluster can cause lead to another attempt.
        mayPass: ({ code }, wasConnected) => (wasConnected ? !lasting.has(code) : code === 'io'),
        onDown: (err) => logger.warn({ err, database: this.name }, 'the connection to etcd is lost; trying again'),
        onUp: () => logger.info({ database: this.name }, 'connected to etcd again'),
      },
    );
  }

  async open(): Promise<EtcdConnection> {
    return this.#link.open();
  }

  /** Starts to connect, and returns immediately. */
  start(): void {
    // If the first attempt fails, the link keeps trying, so the rejection is ignored here.
    this.#link.get().catch(() => undefined);
  }

  get(): Promise<EtcdConnection> {
    return this.#link.get();
  }

  discard(connection: EtcdConnection): void {
    this.#link.discard(connection);
  }

  /**
   * Sends a request that is safe to repeat. If the connection is lost or the token has expired, sends the request again
   * on a new connection, with at most {@link maxAttempts} attempts in all. Rejects with StoreError.
   */
  async repeat<Result>(attempt: (connection: EtcdConnection) => Promise<Result>): Promise<Result> {
    for (let attempts = 1; ; attempts += 1) {
      const connection = await this.#link.get();
      try {
        return await attempt(connection);
      } catch (error) {
        const isGone = isLostConnection(error) || isExpiredToken(error);
        if (isGone) this.#link.discard(connection);
        if (!isGone || attempts === maxAttempts) throw storeErrorFrom(error, this.name);
      }
    }
  }

  close(): Promise<void> {
    return this.#link.close();
  }

  async #connect(): Promise<EtcdConnection> {
    const { endpoints, tls } = this.#parts.database;
    let failure: StoreError | undefined;
    for (let tried = 0; tried < endpoints.length; tried += 1) {
      const endpoint = endpoints[this.#first] ?? '';
      // Even if the connection to `endpoint` succeeds, the next call of this method starts with the member after it.
      this.#first = (this.#first + 1) % endpoints.length;
      try {
        return await this.#connectTo(endpoint);
      } catch (error) {
        failure = storeErrorFrom(error, `cannot use ${this.name} at ${endpoint}${tls ? ' with TLS' : ''}`);
        if (failure.code !== 'io') throw failure;
      }
    }
    throw failure ?? new TypeError('no endpoints');
  }

  async #connectTo(endpoint: string): Promise<EtcdConnection> {
    const { database, clock, prepare } = this.#parts;
    const connection = await EtcdConnection.open(endpoint, { ...database, clock });
    try {
      await prepare(connection);
      connection.ready();
      return connection;
    } catch (error) {
      connection.destroy();
      throw error;
    }
  }
}
