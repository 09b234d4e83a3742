import { freezeDeep } from '@homeostat/controller-runtime';
import { deepEqual } from '@homeostat/controller-runtime/api';
import type { Logger } from '@homeostat/controller-runtime/api';
import { PluginListeners } from '../exchange/plugin-listeners.ts';
import type { PluginSettings, SettingsValues } from '../sdk/plugin-settings.ts';

export interface SettingsRunOptions {
  /** The plugin's own. */
  readonly logger: Logger;
  /** Reads what is stored, and fills in defaults. Rejects with SettingsError when it does not fit. */
  readonly read: () => Promise<SettingsValues>;
  readonly onClose: () => void;
}

/** The settings of one run of a plugin. */
export class SettingsRun {
  readonly #options: SettingsRunOptions;
  readonly #handlers: PluginListeners<SettingsValues>;
  #value: SettingsValues = Object.freeze({});
  #reading: Promise<void> = Promise.resolve();

  constructor(options: SettingsRunOptions) {
    this.#options = options;
    this.#handlers = new PluginListeners({
      logger: options.logger,
      message: 'a plugin failed to take its new settings',
    });
  }

  /** The part that the plugin receives. */
  settings(): PluginSettings {
    return Object.freeze<PluginSettings>({
      get: () => this.#value,
      onChange: (handler) => this.#handlers.add(handler),
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
    this.#handlers.close();
    this.#options.onClose();
  }

  #take(value: SettingsValues): void {
    if (deepEqual(value, this.#value)) return;
    this.#value = freezeDeep(value);
    this.#handlers.call(this.#value);
  }
}
