import type { Client } from '../client/client.ts';

/** The arguments of a runnable besides its signal. */
export interface RunnableContext {
  /**
   * The manager's client. If the runnable needs `leadership`, the client's writes include the term, like those of
   * controllers: the server refuses them (409, `isFormerLeader`) once another process leads.
   */
  readonly client: Client;
}

/** A part that lives as long as its manager: a server, a poller, a cleaner. */
export interface Runnable {
  /** Unique within a manager. */
  readonly name: string;
  /**
   * The condition of its start: `nothing` (default; for example for HTTP endpoints), the `caches` of all controllers,
   * or `leadership`, as for the controllers. It stops before what it needs. Without an election every manager leads.
   */
  readonly needs?: 'nothing' | 'caches' | 'leadership';
  /**
   * Works until the signal aborts, and settles when all of it has stopped. A rejection is logged, and ends only this
   * part.
   */
  run(signal: AbortSignal, context: RunnableContext): Promise<void>;
}
