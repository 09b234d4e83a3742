import { freezeDeep } from '@homeostat/controller-runtime';
import { deepEqual } from '@homeostat/controller-runtime/api';
import type { Logger } from '@homeostat/controller-runtime/api';
import { contained } from './contained.ts';
import type { PluginSettings, SettingsValues } from './plugin-settings.ts';

export interface SettingsRunOptions {
  /** The plugin's own. */
  readonly logger: Logger;
  /** Reads what is stored, and fills in defaults. Rejects with SettingsError when it does not fit. */
  readonly read: () => Promise<SettingsValues>;
  readonly onClose: () => void;
}

type Handler = (settings: SettingsValues) => unknown;

/** The settings of one run of a plugin. */
export class SettingsRun {
  readonly #options: SettingsRunOptions;
  readonly #handlers = new Set<Handler>();
  #value: SettingsValues = Object.freeze({});
  #reading: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: SettingsRunOptions) {
    this.#options = options;
  }

  /** What the plugin is given. */
  settings(): PluginSettings {
    return Object.freeze<PluginSettings>({
      get: () => this.#value,
      onChange: (handler) => this.#listen(handler),
    });
  }

  /** Takes what is stored now, one reading after the other, so that the last one is the newest. Rejects as reading does. */
  refresh(): Promise<void> {
    const refreshed = this.#reading.then(async () => this.#take(await this.#options.read()));
    this.#reading = refreshed.catch(() => undefined);
    return refreshed;
  }

  /** No handler is called any more. */
  close(): void {
    this.#isClosed = true;
    this.#handlers.clear();
    this.#options.onClose();
  }

  #take(value: SettingsValues): void {
    if (deepEqual(value, this.#value)) return;
    this.#value = freezeDeep(value);
    for (const handler of this.#handlers) this.#call(handler);
  }

  #listen(handler: Handler): () => void {
    if (this.#isClosed) throw new Error('the plugin is being stopped');
    // Each its own, also where one function is given twice.
    const own: Handler = (settings) => handler(settings);
    this.#handlers.add(own);
    return () => void this.#handlers.delete(own);
  }

  #call(handler: Handler): void {
    const { logger } = this.#options;
    const value = this.#value;
    contained(
      () => handler(value),
      (err) => logger.error({ err }, 'a plugin failed to take its new settings'),
    );
  }
}
