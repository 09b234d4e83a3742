import type { Client } from '../client/client.ts';

/** The second argument of {@link Runnable.run}. */
export interface RunnableContext {
  /**
   * The manager's client. If the runnable needs `leadership`, the client's writes include the term, like those of
   * controllers: the server refuses them (409, `isFormerLeader`) once another process leads.
   */
  readonly client: Client;
}

/** A part of the program that runs as long as its manager, such as a server, a poller or a cleaner. */
export interface Runnable {
  /** The name of the runnable in logs. It should be unique within a manager. */
  readonly name: string;
  /**
   * The condition for the start: `nothing` (the default, for example for HTTP endpoints); `caches`: the caches of all
   * controllers are synced, or `cacheSyncTimeoutMs` has passed; `leadership`: this manager leads, as for controllers.
   * The manager stops a runnable with `caches` before its caches, and a runnable with `leadership` before it releases
   * the lease. Without an election, every manager leads.
   */
  readonly needs?: 'nothing' | 'caches' | 'leadership';
  /**
   * Runs until the signal aborts, and settles when everything in it has stopped. A rejection is logged, and ends only
   * this runnable.
   */
  run(signal: AbortSignal, context: RunnableContext): Promise<void>;
}
