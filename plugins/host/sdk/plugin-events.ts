import { parseSharedName } from '../text/shared-name.ts';

/** An event between plugins; see {@link defineEvent}. */
export interface SharedEvent<T> {
  readonly name: string;
  /** Absent at run time: it exists for the type of the payload. */
  readonly payload?: T;
}

/**
 * Names an event `<plugin>/<name>`, after the plugin that it concerns; any plugin may emit it, and listen. Users may
 * import it, or define it again: events with the same name are the same. Frozen. @throws TypeError for an invalid
 * name.
 */
export function defineEvent<T>(name: string): SharedEvent<T> {
  parseSharedName('an event', name);
  return Object.freeze({ name });
}

/** Events between the plugins of this process. They are not stored: a plugin that starts later does not get them. */
export interface PluginEvents {
  /**
   * Calls the listeners of all plugins with the payload itself, in the order of their registration; promises that
   * they return are not awaited. Never throws. Once the plugin has stopped, it calls none, and logs a warning.
   */
  emit<T>(event: SharedEvent<T>, payload: NoInfer<T>): void;
  /**
   * Listens until the plugin stops. Errors of a listener are logged, and do not affect the others. Returns a function
   * that removes it.
   * @throws Error once the plugin has stopped.
   */
  on<T>(event: SharedEvent<T>, listener: (payload: T) => unknown): () => void;
}
