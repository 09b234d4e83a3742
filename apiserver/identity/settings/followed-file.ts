import type { Clock, Logger, Timer } from '@homeostat/controller-runtime/api';
import type { SettingsText } from './settings-file.ts';

/** The interval at which a file is read: a token that is removed from it is refused at most a minute later. */
const intervalMs = 60_000;

export interface FollowedFileOptions {
  /** The content that is in use. */
  readonly file: SettingsText;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Rejects when the file cannot be read. */
  readonly read: (path: string) => Promise<SettingsText>;
  /** Called with each new content. Throws, and changes nothing, when it cannot be used. */
  readonly apply: (file: SettingsText) => void;
}

/** A part that is started with the server, and stopped with it. */
export interface Followed {
  start(): void;
  /** Resolves when nothing is under way any more. */
  stop(): Promise<void>;
}

/** Reads a file again every minute. If it cannot be used, it logs that and keeps the last content. */
export class FollowedFile implements Followed {
  readonly #options: FollowedFileOptions;
  #text: string;
  #timer: Timer | undefined;
  #look: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(options: FollowedFileOptions) {
    this.#options = options;
    this.#text = options.file.text;
  }

  start(): void {
    if (this.#stopped) return;
    this.#timer = this.#options.clock.setTimeout(() => {
      this.#look = this.#lookAgain();
    }, intervalMs);
    this.#timer.unref?.();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#options.clock.clearTimeout(this.#timer);
    await this.#look;
  }

  async #lookAgain(): Promise<void> {
    const { file, read, apply, logger } = this.#options;
    const { path } = file;
    try {
      const found = await read(path);
      if (!this.#stopped && found.text !== this.#text) {
        apply(found);
        this.#text = found.text;
        logger.info({ path }, 'a file has changed, and its new content is in use');
      }
    } catch (err) {
      logger.error({ err, path }, 'a file cannot be read again: the content before stays in use');
    }
    this.start();
  }
}
