import type { Logger } from '@homeostat/controller-runtime/api';
import type { Contribution, Contributions } from '../sdk/extension-point.ts';
import { PluginListeners } from './plugin-listeners.ts';

type List = readonly Contribution<unknown>[];

const nothing: List = Object.freeze([]);

/** The contributions to one declared extension point, and the handlers that are called when they change. */
export class PointContributions {
  readonly #handlers: PluginListeners<List>;
  #list = nothing;
  #isClosed = false;

  /** `logger` is the logger of the plugin that declares the extension point. */
  constructor(logger: Logger) {
    const message = 'a plugin failed to handle the contributions of other plugins';
    this.#handlers = new PluginListeners({ logger, message });
  }

  /** Returns the contributions for the declaring plugin. Their values match the schema of the extension point. */
  contributions<T>(): Contributions<T> {
    return Object.freeze<Contributions<T>>({
      list: () => this.#list as readonly Contribution<T>[],
      onChange: (handler) => this.#handlers.add((list) => handler(list as readonly Contribution<T>[])),
    });
  }

  /** The names of the plugins that contribute, in the order of the contributions. */
  plugins(): readonly string[] {
    return this.#list.map(({ plugin }) => plugin);
  }

  update(list: List): void {
    const isSame = list.length === this.#list.length && list.every((each, index) => each === this.#list[index]);
    if (isSame || this.#isClosed) return;
    this.#list = Object.freeze([...list]);
    this.#handlers.call(this.#list);
  }

  close(): void {
    this.#isClosed = true;
    this.#handlers.close();
    this.#list = nothing;
  }
}
