import type { Logger } from '@homeostat/controller-runtime/api';

export interface ShutdownParts {
  readonly logger: Logger;
  /** Ends the process at once. */
  readonly exit: (code: number) => void;
  /** The plugin that an error comes from, if it is known. */
  readonly pluginOf: (error: unknown) => string | undefined;
  /**
   * Fails the plugin whose own callback threw, and returns its name; undefined if the callback may belong to other
   * code.
   */
  readonly crash: (error: unknown) => string | undefined;
}

/** 128 + the signal's number, as shells report it. */
const exitCodes = { SIGTERM: 143, SIGINT: 130 } as const;
type ShutdownSignal = keyof typeof exitCodes;

/**
 * Decides which signals and errors end the process. A signal requests an orderly stop, a second one exits at once.
 *
 * An unhandled rejection is logged, and the process continues: some asynchronous work of a plugin failed, without
 * interrupting the host. An uncaught exception is different: it interrupted everything on the stack. If the
 * whole stack is a plugin's (from a timer, say), the plugin fails, and the process continues. Otherwise it may have
 * interrupted the host: it is logged and requests an orderly stop, with exit code 1. All acknowledged writes are stored,
 * and a supervisor starts a sound process.
 */
export class Shutdown {
  readonly #parts: ShutdownParts;
  readonly #controller = new AbortController();
  #exitCode = 0;
  /** True: the next signal exits at once. */
  #isUrgent = false;

  constructor(parts: ShutdownParts) {
    this.#parts = parts;
  }

  /** Aborts when a stop is requested. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** 0, or 1 after an exception or {@link fail}. */
  get exitCode(): number {
    return this.#exitCode;
  }

  /** Listens until {@link dispose}. */
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
   * Requests an orderly stop. A terminal sends its signal to each process of a group, so the first signal that follows
   * changes nothing.
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
      this.#parts.logger.warn({ signal }, 'a second signal: exit at once');
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
