import { parseSharedName } from '../text/shared-name.ts';

/** Something that plugins tell each other; see {@link defineEvent}. */
export interface SharedEvent<T> {
  readonly name: string;
  /** Carries the type, and is never there. */
  readonly payload?: T;
}

/**
 * Names an event `<plugin>/<name>`, after the plugin that it is about; any plugin may emit it, and listen. Those that use it
 * may import it, or define it again: events are the same when their names are. Frozen.
 * @throws TypeError for a name that is none.
 */
export function defineEvent<T>(name: string): SharedEvent<T> {
  parseSharedName('an event', name);
  return Object.freeze({ name });
}

/** Events between the plugins of this process. They are not stored: a plugin that starts later does not get them. */
export interface PluginEvents {
  /**
   * Calls every listener with the payload, as it is, in the order in which they were registered, whichever plugin's they
   * are; promises that they return are not awaited. Never throws. From a plugin that has stopped: nothing, and a warning.
   */
  emit<T>(event: SharedEvent<T>, payload: NoInfer<T>): void;
  /**
   * Listens until the plugin stops. What a listener throws, or rejects with, is logged, and the others hear the event
   * all the same. Returns a function that ends it.
   * @throws Error once the plugin has stopped.
   */
  on<T>(event: SharedEvent<T>, listener: (payload: T) => unknown): () => void;
}
