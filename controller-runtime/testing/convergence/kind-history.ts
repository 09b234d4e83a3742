import { formatKey, keyOf } from '../../api/index.ts';
import type { Model, ObjectList, WatchEvent } from '../../api/index.ts';
import type { Client } from '../../client/client.ts';

/** Records all changes of a kind, so that a cache can receive a past state of the kind. */
export class KindHistory {
  readonly #first: ObjectList;
  readonly #events: WatchEvent[] = [];
  #followed: Promise<void> = Promise.resolve();

  private constructor(first: ObjectList) {
    this.#first = first;
  }

  /** Starts to follow the kind, until the signal aborts. */
  static async start(client: Client, model: Model, signal: AbortSignal): Promise<KindHistory> {
    const history = new KindHistory(await client.list(model));
    const { resourceVersion } = history.#first.metadata;
    history.#followed = history.#follow(client.watch(model, { resourceVersion, signal }));
    // An error is not lost: {@link end} rejects with it.
    history.#followed.catch(() => undefined);
    return history;
  }

  /**
   * Resolves when the history has stopped following the kind. Rejects when the watch has failed, because
   * {@link before} does not know the changes after the failure.
   */
  async end(): Promise<void> {
    await this.#followed;
  }

  /** Returns the list of objects before the last `changes` changes, or the first list when there were fewer changes. */
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
