import { formatKey, keyOf, type ApiObject, type ObjectKey } from '../api/index.ts';
import type { HandlerOptions, HandlerRegistration, Informer, InformerHandler } from '../client/informer.ts';

interface Change<T> {
  readonly type: 'MODIFIED' | 'DELETED';
  readonly object: T;
}

/**
 * An informer whose cache receives each change two turns of the event loop after the write. While a test holds the
 * informer, the cache receives the changes only after the release.
 */
export class FakeInformer<T extends ApiObject = ApiObject> implements Informer<T> {
  resourceVersion = '0';
  /** If set, each run rejects with this error. */
  failure: Error | undefined = undefined;
  runs = 0;
  /** The resync interval of each handler. {@link resync} simulates that all these intervals have passed. */
  readonly resyncPeriods: (number | undefined)[] = [];
  readonly #snapshot: () => { readonly objects: readonly T[]; readonly revision: string };
  readonly #cache = new Map<string, T>();
  readonly #handlers = new Set<Registration<T>>();
  readonly #indexes = new Map<string, (object: T) => readonly string[]>();
  readonly #waiting: Change<T>[] = [];
  #isHeld = false;
  #isSynced = false;

  constructor(snapshot: () => { readonly objects: readonly T[]; readonly revision: string }) {
    this.#snapshot = snapshot;
  }

  get(key: ObjectKey): T | undefined {
    return this.#cache.get(formatKey(key));
  }

  list(): readonly T[] {
    return [...this.#cache.values()];
  }

  hasSynced(): boolean {
    return this.#isSynced;
  }

  addIndex(name: string, valuesOf: (object: T) => readonly string[]): void {
    this.#indexes.set(name, valuesOf);
  }

  whenIndexed(): Promise<void> {
    return Promise.resolve();
  }

  byIndex(name: string, value: string): readonly T[] {
    return this.list().filter((object) => this.#indexes.get(name)?.(object).includes(value));
  }

  addHandler(handler: InformerHandler<T>, options: HandlerOptions = {}): HandlerRegistration {
    this.resyncPeriods.push(options.resyncMs);
    const registration = new Registration(
      handler,
      () => this.#isSynced,
      () => this.#waiting.length === 0,
      (self) => this.#handlers.delete(self),
    );
    this.#handlers.add(registration);
    for (const object of this.#cache.values()) handler.onAdd?.(object, { initial: true });
    return registration;
  }

  /**
   * Runs the informer. The first list arrives one turn of the event loop later; while a test holds the informer, the
   * list does not arrive.
   */
  async run(signal: AbortSignal): Promise<void> {
    this.runs += 1;
    if (this.failure !== undefined) throw this.failure;
    while (!signal.aborted && !this.#isSynced) {
      await new Promise((resolve) => setImmediate(resolve));
      if (!this.#isHeld && !this.#isSynced) this.#sync();
    }
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  }

  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
    this.#deliverSoon();
  }

  /** Simulates that the resync interval of all handlers has passed. */
  resync(): void {
    for (const object of this.#cache.values()) {
      for (const { handler } of this.#handlers) handler.onUpdate?.(object, object);
    }
  }

  enqueue(change: Change<T>): void {
    if (!this.#isSynced) return;
    this.#waiting.push(change);
    this.#deliverSoon();
  }

  #sync(): void {
    const { objects, revision } = this.#snapshot();
    this.#isSynced = true;
    this.resourceVersion = revision;
    for (const object of objects) {
      this.#cache.set(formatKey(keyOf(object)), object);
      for (const { handler } of this.#handlers) handler.onAdd?.(object, { initial: true });
    }
  }

  #deliverSoon(): void {
    setImmediate(() => setImmediate(() => this.#deliver()));
  }

  #deliver(): void {
    if (this.#isHeld) return;
    for (let change = this.#waiting.shift(); change !== undefined; change = this.#waiting.shift()) this.#apply(change);
  }

  #apply({ type, object }: Change<T>): void {
    const key = formatKey(keyOf(object));
    const previous = this.#cache.get(key);
    this.resourceVersion = object.metadata.resourceVersion;
    if (type === 'DELETED') this.#cache.delete(key);
    else this.#cache.set(key, object);
    for (const { handler } of this.#handlers) {
      if (type === 'DELETED') handler.onDelete?.(object);
      else if (previous === undefined) handler.onAdd?.(object, { initial: false });
      else handler.onUpdate?.(previous, object);
    }
  }
}

class Registration<T extends ApiObject> implements HandlerRegistration {
  readonly handler: InformerHandler<T>;
  readonly hasSynced: () => boolean;
  readonly isIdle: () => boolean;
  readonly #onRemove: (self: Registration<T>) => void;

  constructor(
    handler: InformerHandler<T>,
    hasSynced: () => boolean,
    isIdle: () => boolean,
    onRemove: (self: Registration<T>) => void,
  ) {
    this.handler = handler;
    this.hasSynced = hasSynced;
    this.isIdle = isIdle;
    this.#onRemove = onRemove;
  }

  remove(): void {
    this.#onRemove(this);
  }
}
