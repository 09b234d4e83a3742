import { parseSharedName } from '../text/shared-name.ts';

/** An event between plugins; see {@link defineEvent}. */
export interface SharedEvent<T> {
  readonly name: string;
  /** Always absent at run time; it only carries the type of the payload. */
  readonly payload?: T;
}

/**
 * Defines an event with the name `<plugin>/<name>`, where `<plugin>` is the plugin that the event concerns. Every
 * plugin may emit the event and listen for it. Other plugins may import the event, or define it again: events with the
 * same name are the same. The event is frozen.
 * @throws TypeError for an invalid name.
 */
export function defineEvent<T>(name: string): SharedEvent<T> {
  parseSharedName('an event', name);
  return Object.freeze({ name });
}

/**
 * Events between the plugins of this process. Events are not stored: a plugin that starts later does not receive
 * earlier events.
 */
export interface PluginEvents {
  /**
   * Calls the listeners of all plugins in the order of their registration. Passes the payload itself, not a copy, and
   * does not await promises of listeners. Never throws. After this plugin has stopped, calls no listener, and logs a
   * warning.
   */
  emit<T>(event: SharedEvent<T>, payload: NoInfer<T>): void;
  /**
   * Calls the listener at each emission, until this plugin stops. Errors of a listener are logged, and do not affect
   * other listeners. Returns a function that removes the listener.
   * @throws Error after this plugin has stopped.
   */
  on<T>(event: SharedEvent<T>, listener: (payload: T) => unknown): () => void;
}
