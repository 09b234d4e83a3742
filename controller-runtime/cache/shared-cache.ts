import { formatKey, keyOf } from '../api/index.ts';
import type { ApiObject } from '../api/index.ts';
import type { BackingSink, InformerBacking } from './backed-informer.ts';
import type { KeyedObject } from './handler-event.ts';
import { SharedRun } from './shared-run.ts';

/**
 * Shares one {@link InformerBacking}, the storage of objects and the source of their changes, among several informers.
 * The backing runs while at least one of the informers runs.
 */
export class SharedCache<T extends ApiObject> {
  readonly backing: InformerBacking<T>;
  readonly #sinks = new Set<BackingSink<T>>();
  readonly #run = new SharedRun((signal) => this.#follow(signal));
  #isOpen = false;

  constructor(backing: InformerBacking<T>) {
    this.backing = backing;
  }

  /** True when no informer follows this cache. */
  get isUnused(): boolean {
    return this.#sinks.size === 0;
  }

  /**
   * Calls the sink with all later changes. If the cache has all objects already, it calls `open` of the sink at once.
   * The returned promise settles together with the promise of {@link SharedRun.join}.
   */
  async follow(signal: AbortSignal, sink: BackingSink<T>): Promise<void> {
    if (signal.aborted) return;
    this.#sinks.add(sink);
    if (this.#isOpen) sink.open();
    signal.addEventListener('abort', () => this.#sinks.delete(sink), { once: true });
    await this.#run.join(signal);
  }

  async #follow(signal: AbortSignal): Promise<void> {
    // From the abort on, the backing receives no changes, so its objects become outdated. An informer that follows this
    // cache later has to wait until the backing runs again and has all objects.
    signal.addEventListener('abort', () => (this.#isOpen = false), { once: true });
    const sinks = this.#sinks;
    await this.backing.follow(signal, {
      added: (state) => {
        for (const sink of sinks) sink.added(state);
      },
      updated: (previous, state) => {
        for (const sink of sinks) sink.updated(previous, state);
      },
      deleted: (last) => {
        for (const sink of sinks) sink.deleted(last);
      },
      open: () => {
        this.#isOpen = true;
        for (const sink of sinks) sink.open();
      },
    });
  }
}

/** The caches that informers currently follow, by kind and options. A cache without followers is dropped. */
export class SharedCaches {
  readonly #caches = new Map<string, SharedCache<ApiObject>>();

  /**
   * Returns the cache of a key, and makes the cache when it does not exist. The cast is correct, because the key
   * contains the kind, which determines the type of the objects.
   */
  take<T extends ApiObject>(key: string, make: () => InformerBacking<T>): SharedCache<T> {
    const present = this.#caches.get(key) as SharedCache<T> | undefined;
    const cache = present ?? new SharedCache(make());
    if (present === undefined) this.#caches.set(key, cache);
    return cache;
  }

  /**
   * Drops the cache if no informer follows it. Each caller of `take` must call this when it has stopped following the
   * cache.
   */
  giveBack(key: string, cache: { readonly isUnused: boolean }): void {
    if (cache.isUnused && this.#caches.get(key) === cache) this.#caches.delete(key);
  }
}

export interface SharedBackingParts<T extends ApiObject> {
  readonly caches: SharedCaches;
  readonly key: string;
  /** Makes the backing of a new cache: the storage of objects and the source of their changes. */
  readonly make: () => InformerBacking<T>;
}

/** Gives one informer its objects and their changes. While the informer runs, these come from a shared cache. */
export class SharedBacking<T extends ApiObject> implements InformerBacking<T> {
  readonly #parts: SharedBackingParts<T>;
  #cache: SharedCache<T> | undefined;
  /** The objects at the time when the informer last stopped. */
  #before: ReadonlyMap<string, T> | undefined;

  constructor(parts: SharedBackingParts<T>) {
    this.#parts = parts;
  }

  get revision(): string {
    return this.#cache?.backing.revision ?? '0';
  }

  get(key: string): T | undefined {
    return this.#cache?.backing.get(key);
  }

  objects(): Iterable<KeyedObject<T>> {
    return this.#cache?.backing.objects() ?? [];
  }

  objectSteps(): Iterable<KeyedObject<T>> {
    return this.objects();
  }

  async follow(signal: AbortSignal, sink: BackingSink<T>): Promise<void> {
    const { caches, key, make } = this.#parts;
    const cache = caches.take(key, make);
    this.#cache = cache;
    let isTold = false;
    const open = (): void => {
      if (!isTold) this.#tellDifferences(sink);
      isTold = true;
      sink.open();
    };
    const remember = (): void => {
      if (isTold) this.#remember();
    };
    signal.addEventListener('abort', remember, { once: true });
    await cache.follow(signal, {
      added: (state) => void (isTold && sink.added(state)),
      updated: (previous, state) => void (isTold && sink.updated(previous, state)),
      deleted: (last) => void (isTold && sink.deleted(last)),
      open,
    });
    caches.giveBack(key, cache);
  }

  /**
   * Stores the current objects in `#before`. This must happen in the turn of the event loop in which the informer
   * stops, because the shared cache continues to change while other informers follow the cache.
   */
  #remember(): void {
    this.#before = new Map(Array.from(this.objects(), (state) => [state.key, state.object]));
  }

  #tellDifferences(sink: BackingSink<T>): void {
    // When the informer runs for the first time, no handler has received an object yet: open() delivers all objects.
    if (this.#before === undefined) return;
    const gone = new Map(this.#before);
    this.#before = undefined;
    for (const state of this.objects()) {
      const previous = gone.get(state.key);
      gone.delete(state.key);
      tellDifference(sink, previous, state);
    }
    for (const object of gone.values()) sink.deleted({ key: formatKey(keyOf(object)), object });
  }
}

function tellDifference<T extends ApiObject>(
  sink: BackingSink<T>,
  previous: T | undefined,
  state: KeyedObject<T>,
): void {
  if (previous === undefined) return sink.added(state);
  const { uid, resourceVersion } = state.object.metadata;
  const last = { key: state.key, object: previous };
  if (previous.metadata.uid !== uid) {
    sink.deleted(last);
    return sink.added(state);
  }
  if (previous.metadata.resourceVersion !== resourceVersion) sink.updated(last, state);
}
