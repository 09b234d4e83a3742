import { freezeDeep } from '@homeostat/controller-runtime';
import { deepEqual } from '@homeostat/controller-runtime/api';
import type { Logger } from '@homeostat/controller-runtime/api';
import { PluginListeners } from '../exchange/plugin-listeners.ts';
import type { PluginSettings, SettingsValues } from '../sdk/plugin-settings.ts';

export interface SettingsRunParts {
  /** The logger of the plugin. */
  readonly logger: Logger;
  /** Reads the stored settings, and fills in defaults. Rejects with SettingsError when they break the schema. */
  readonly read: () => Promise<SettingsValues>;
  readonly onClose: () => void;
}

/** The settings of one run of a plugin. */
export class SettingsRun {
  readonly #parts: SettingsRunParts;
  readonly #handlers: PluginListeners<SettingsValues>;
  #value: SettingsValues = Object.freeze({});
  #reading: Promise<void> = Promise.resolve();

  constructor(parts: SettingsRunParts) {
    this.#parts = parts;
    this.#handlers = new PluginListeners({
      logger: parts.logger,
      message: 'a plugin failed to handle its new settings',
    });
  }

  /** Returns the interface that the plugin receives. */
  settings(): PluginSettings {
    return Object.freeze<PluginSettings>({
      get: () => this.#value,
      onChange: (handler) => this.#handlers.add(handler),
    });
  }

  /**
   * Reads the stored settings again. Reads run one after the other, so that the last result is the newest. Rejects when
   * the read rejects.
   */
  refresh(): Promise<void> {
    const refreshed = this.#reading.then(async () => this.#take(await this.#parts.read()));
    this.#reading = refreshed.catch(() => undefined);
    return refreshed;
  }

  /** Removes the plugin's handlers of changed settings, and calls `onClose`. */
  close(): void {
    this.#handlers.close();
    this.#parts.onClose();
  }

  #take(value: SettingsValues): void {
    if (deepEqual(value, this.#value)) return;
    this.#value = freezeDeep(value);
    this.#handlers.call(this.#value);
  }
}
