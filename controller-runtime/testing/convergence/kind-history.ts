import { formatKey, keyOf } from '../../api/index.ts';
import type { Model, ObjectList, WatchEvent } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';

/** All changes of a kind, so that a cache can be shown a past state of it. */
export class KindHistory {
  readonly #first: ObjectList;
  readonly #events: WatchEvent[] = [];
  #followed: Promise<void> = Promise.resolve();

  private constructor(first: ObjectList) {
    this.#first = first;
  }

  /** Follows the kind from now on, until the signal aborts. */
  static async start(client: Client, model: Model, signal: AbortSignal): Promise<KindHistory> {
    const history = new KindHistory(await client.list(model));
    const { resourceVersion } = history.#first.metadata;
    history.#followed = history.#follow(client.watch(model, { resourceVersion, signal }));
    // The caller of {@link end} gets the error.
    history.#followed.catch(() => undefined);
    return history;
  }

  /** Resolves when it has stopped following; rejects when it stopped too early, so that `before` lacked changes. */
  async end(): Promise<void> {
    await this.#followed;
  }

  /** The list before this many changes; the first list, when there were fewer. */
  before(changes: number): ObjectList {
    const objects = new Map(this.#first.items.map((object) => [formatKey(keyOf(object)), object]));
    let { resourceVersion } = this.#first.metadata;
    for (const event of this.#events.slice(0, Math.max(0, this.#events.length - changes))) {
      if (event.type === 'ERROR') continue;
      ({ resourceVersion } = event.object.metadata);
      if (event.type === 'DELETED') objects.delete(formatKey(keyOf(event.object)));
      else if (event.type !== 'BOOKMARK') objects.set(formatKey(keyOf(event.object)), event.object);
    }
    return { ...this.#first, metadata: { ...this.#first.metadata, resourceVersion }, items: [...objects.values()] };
  }

  async #follow(events: AsyncIterable<WatchEvent>): Promise<void> {
    for await (const event of events) this.#events.push(event);
  }
}
