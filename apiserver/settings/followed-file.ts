import type { Clock, Logger } from '@homeostat/controller-runtime/api';
import { PeriodicTask } from '../base/periodic-task.ts';
import type { SettingsText } from './settings-file.ts';

/**
 * The interval at which a file is read again. A token that is removed from the file is refused at most a minute later.
 */
const intervalMs = 60_000;

export interface FollowedFileParts {
  /** The path of the file, and the content that is in use at the start. */
  readonly file: SettingsText;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Rejects when the file cannot be read. */
  readonly read: (path: string) => Promise<SettingsText>;
  /** Called with each new content of the file. Throws, and changes nothing, when the content cannot be used. */
  readonly apply: (file: SettingsText) => void;
}

/** A part that starts and stops with the server. */
export interface Followed {
  start(): void;
  /** Called when the server stops. Resolves when the work that this part still does has ended. */
  stop(): Promise<void>;
}

/**
 * Reads a file again every minute, and applies its new content. If the file cannot be read, or its content cannot be
 * used, logs an error, and the previous content stays in use.
 */
export class FollowedFile implements Followed {
  readonly #parts: FollowedFileParts;
  readonly #looks: PeriodicTask;
  #text: string;

  constructor(parts: FollowedFileParts) {
    this.#parts = parts;
    this.#text = parts.file.text;
    this.#looks = new PeriodicTask({ clock: parts.clock, intervalMs, run: () => this.#lookAgain() });
  }

  start(): void {
    this.#looks.start();
  }

  async stop(): Promise<void> {
    await this.#looks.stop();
  }

  async #lookAgain(): Promise<void> {
    const { file, read, apply, logger } = this.#parts;
    const { path } = file;
    try {
      const found = await read(path);
      if (!this.#looks.isStopped && found.text !== this.#text) {
        apply(found);
        this.#text = found.text;
        logger.info({ path }, 'a file has changed, and its new content is in use');
      }
    } catch (err) {
      logger.error({ err, path }, 'a file, or its new content, cannot be used: the previous content stays in use');
    }
  }
}
