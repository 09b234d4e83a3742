import type { Logger } from '@homeostat/controller-runtime/api';

export interface ShutdownParts {
  readonly logger: Logger;
  /** Ends the process at once. */
  readonly exit: (code: number) => void;
  /** Returns the plugin whose code caused an error; undefined when it is not known. */
  readonly pluginOf: (error: unknown) => string | undefined;
  /**
   * Fails the plugin whose callback threw an uncaught exception, and returns its name; undefined if the callback may
   * belong to other code.
   */
  readonly crash: (error: unknown) => string | undefined;
}

/** The exit code for each signal: 128 plus the number of the signal, as in shells. */
const exitCodes = { SIGTERM: 143, SIGINT: 130 } as const;
type ShutdownSignal = keyof typeof exitCodes;

/**
 * Decides which signals and errors end the process. The first signal requests an orderly stop; on the second signal,
 * the process exits at once.
 *
 * An unhandled rejection is logged, and the process continues: some asynchronous work of a plugin failed, without
 * interrupting the host. An uncaught exception is different: it interrupted all functions on the stack. If all of them
 * belong to a plugin, for example in a timer, the plugin fails, and the process continues. Otherwise the exception may
 * have interrupted the host: it is logged, and the process stops in order with exit code 1. All acknowledged writes are
 * stored, so that a supervisor can start a new process.
 */
export class Shutdown {
  readonly #parts: ShutdownParts;
  readonly #controller = new AbortController();
  #exitCode = 0;
  /** True when the process exits at once on the next signal. */
  #isUrgent = false;

  constructor(parts: ShutdownParts) {
    this.#parts = parts;
  }

  /** Aborts when a stop is requested. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The exit code: 1 after an uncaught exception or {@link fail}, otherwise 0. */
  get exitCode(): number {
    return this.#exitCode;
  }

  /** Listens for signals and uncaught errors until {@link dispose}. */
  listen(): void {
    for (const signal of Object.keys(exitCodes)) process.on(signal, this.#onSignal);
    process.on('unhandledRejection', this.#onRejection);
    process.on('uncaughtException', this.#onException);
  }

  dispose(): void {
    for (const signal of Object.keys(exitCodes)) process.off(signal, this.#onSignal);
    process.off('unhandledRejection', this.#onRejection);
    process.off('uncaughtException', this.#onException);
  }

  /**
   * Requests an orderly stop. Called in a worker when its parent process stops. On Ctrl-C, the terminal sends a signal
   * to both processes, and the worker may receive its signal after this call. So this call does not count as a signal:
   * only a second signal makes the worker exit at once.
   */
  stop(): void {
    this.#controller.abort();
  }

  /** Requests an orderly stop, with exit code 1. */
  fail(): void {
    this.#exitCode = 1;
    this.#isUrgent = true;
    this.#controller.abort();
  }

  readonly #onSignal = (signal: ShutdownSignal): void => {
    if (this.#isUrgent) {
      this.#parts.logger.warn({ signal }, 'a signal during the stop: exit at once');
      this.#parts.exit(exitCodes[signal]);
      return;
    }
    this.#isUrgent = true;
    this.#parts.logger.info({ signal }, 'stopping');
    this.#controller.abort();
  };

  readonly #onRejection = (err: unknown): void => {
    this.#parts.logger.error({ err, plugin: this.#parts.pluginOf(err) }, 'unhandled rejection');
  };

  readonly #onException = (err: unknown): void => {
    const plugin = this.#parts.crash(err);
    if (plugin !== undefined) {
      this.#parts.logger.error({ err, plugin }, 'uncaught exception of a plugin: stopping the plugin');
      return;
    }
    this.#parts.logger.error({ err, plugin: this.#parts.pluginOf(err) }, 'uncaught exception: stopping');
    this.fail();
  };
}
