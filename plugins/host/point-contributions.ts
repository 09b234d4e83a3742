import type { Logger } from '@homeostat/controller-runtime/api';
import { contained } from './contained.ts';
import type { Contribution, Contributions } from './extension-point.ts';

type List = readonly Contribution<unknown>[];
type Handler = (list: List) => unknown;

const nothing: List = Object.freeze([]);

/** What one declared point has, and who hears of changes. */
export class PointContributions {
  readonly #logger: Logger;
  readonly #handlers = new Set<Handler>();
  #list = nothing;
  #isClosed = false;

  /** `logger` is that of the plugin that declares it. */
  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** What the plugin is given; the values are as its point says. */
  contributions<T>(): Contributions<T> {
    return Object.freeze<Contributions<T>>({
      list: () => this.#list as readonly Contribution<T>[],
      onChange: (handler) => this.#listen(handler as Handler),
    });
  }

  update(list: List): void {
    const isSame = list.length === this.#list.length && list.every((each, index) => each === this.#list[index]);
    if (isSame || this.#isClosed) return;
    const frozen = Object.freeze([...list]);
    this.#list = frozen;
    for (const handler of this.#handlers) {
      contained(
        () => handler(frozen),
        (err) => this.#logger.error({ err }, 'a plugin failed to take what others contribute'),
      );
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#handlers.clear();
    this.#list = nothing;
  }

  #listen(handler: Handler): () => void {
    if (this.#isClosed) throw new Error('the plugin is being stopped');
    // Each its own, also where one function is given twice.
    const own: Handler = (list) => handler(list);
    this.#handlers.add(own);
    return () => void this.#handlers.delete(own);
  }
}
