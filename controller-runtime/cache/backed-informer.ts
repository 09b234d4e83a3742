import {
  ApiError,
  checkDnsLabel,
  descriptorOf,
  formatKey,
  parseFieldSelector,
  parseLabelSelector,
} from '../api/index.ts';
import type { ApiObject, Clock, Logger, Model, ObjectKey } from '../api/index.ts';
import type {
  HandlerOptions,
  HandlerRegistration,
  Informer,
  InformerHandler,
  InformerOptions,
} from '../client/informer.ts';
import { nextTurn } from '../clock/next-turn.ts';
import { CacheIndexes } from './cache-indexes.ts';
import type { IndexFunction } from './cache-indexes.ts';
import { additionOf, deletionOf, updateOf } from './handler-event.ts';
import type { KeyedObject, ObjectEvent } from './handler-event.ts';
import { HandlerGroup } from './handler-group.ts';
import { IndexFilling } from './index-filling.ts';
import { createShape } from './object-shape.ts';
import type { ObjectShape } from './object-shape.ts';
import { SharedRun } from './shared-run.ts';

/** The maximum number of namespaces that an informer follows. Each namespace needs a watch of its own. */
const maxNamespaces = 100;

/**
 * Receives each change of the objects in an {@link InformerBacking}, after the backing has the change. When the backing
 * follows the server again after a pause, the sink also receives the differences between the objects before the pause
 * and those after it. The methods do not throw.
 */
export interface BackingSink<T extends ApiObject> {
  added(state: KeyedObject<T>): void;
  updated(previous: KeyedObject<T>, state: KeyedObject<T>): void;
  deleted(last: KeyedObject<T>): void;
  /**
   * Called when the backing has all objects, and each time when it has read all of them again, such as after a new
   * list. The informer then fills its indexes again.
   */
  open(): void;
}

/** The storage of an informer's objects, and the source of their changes. */
export interface InformerBacking<T extends ApiObject> {
  /** The revision up to which the backing has received all changes. */
  readonly revision: string;
  get(key: string): T | undefined;
  /**
   * Returns the objects at the time of the call: later changes do not affect the result. The caller may iterate over
   * the result several times.
   */
  objects(): Iterable<KeyedObject<T>>;
  /**
   * Yields the objects to a caller that reads each object once and keeps none. While a large object is being parsed,
   * yields undefined several times; after each, the caller may continue in a later turn of the event loop.
   */
  objectSteps(): Iterable<KeyedObject<T> | undefined>;
  /**
   * Receives the changes from the server until the signal aborts. The promise must not reject. Once it has resolved,
   * the method may be called again; the backing keeps its objects between two calls.
   */
  follow(signal: AbortSignal, sink: BackingSink<T>): Promise<void>;
}

export interface BackedInformerOptions<T extends ApiObject> {
  readonly model: Model<T>;
  readonly selection: InformerOptions<T>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Makes the storage of the informer's objects, which converts each object by `shape` before it keeps the object. */
  readonly back: (shape: ObjectShape<T>) => InformerBacking<T>;
}

/**
 * The first filling of the indexes, which takes several turns of the event loop. Handlers receive the objects only
 * after this filling.
 */
interface Opening<T extends ApiObject> {
  readonly signal: AbortSignal;
  readonly filling: IndexFilling<T>;
}

/** The maximum time for which the end of a run waits for handlers that still run. */
const drainLimitMs = 10_000;

/**
 * Makes an informer whose objects are stored in an {@link InformerBacking}. The informer itself calls the handlers,
 * fills the indexes, and starts and stops the backing. @throws ApiError BadRequest for an invalid selection.
 */
export function createBackedInformer<T extends ApiObject>(options: BackedInformerOptions<T>): Informer<T> {
  checkSelection(options.model, options.selection);
  return new BackedInformer(options);
}

class BackedInformer<T extends ApiObject> implements Informer<T> {
  readonly #backing: InformerBacking<T>;
  readonly #clock: Clock;
  readonly #handlers: HandlerGroup<T>;
  readonly #indexes: CacheIndexes<T>;
  readonly #run = new SharedRun((signal) => this.#follow(signal));
  readonly #onLeft: (handlers: number) => void;
  #isOpen = false;
  #opening: Opening<T> | undefined;
  /** Fills the indexes of an informer that is already open. */
  #refilling: IndexFilling<T> | undefined;
  /** Resolves when the most recent filling of the indexes is over. */
  #filled: Promise<void> = Promise.resolve();

  constructor({ model, selection, clock, logger, back }: BackedInformerOptions<T>) {
    const { kind } = descriptorOf(model);
    const left = 'handlers of an informer did not settle; the informer stops without waiting longer';
    this.#onLeft = (handlers) => logger.warn({ kind, handlers, waitedMs: drainLimitMs }, left);
    const fail = (message: string) => (err: unknown) => logger.error({ err }, message);
    this.#clock = clock;
    this.#backing = back(
      createShape(selection, fail('the transform of an informer failed; the whole object is cached')),
    );
    this.#indexes = new CacheIndexes((err, index) =>
      logger.error({ err, index }, 'an index of an informer failed; the index omits the object'),
    );
    this.#handlers = new HandlerGroup({
      clock,
      report: fail('a handler of an informer failed; the handler still receives the next event'),
      present: (as) => this.#present(as),
    });
  }

  get resourceVersion(): string {
    return this.#isOpen ? this.#backing.revision : '0';
  }

  get(key: ObjectKey): T | undefined {
    return this.#isOpen ? this.#backing.get(formatKey(key)) : undefined;
  }

  list(): readonly T[] {
    return this.#isOpen ? Array.from(this.#backing.objects(), ({ object }) => object) : [];
  }

  hasSynced(): boolean {
    return this.#isOpen;
  }

  addIndex(name: string, valuesOf: IndexFunction<T>): void {
    if (!this.#indexes.add(name, valuesOf)) return;
    if (this.#isOpen) this.#fillIndexes();
    else if (this.#opening !== undefined) this.#filled = this.#openIndexed(this.#opening.signal);
  }

  async whenIndexed(): Promise<void> {
    // This is a loop, because a new filling of the indexes may replace one that is not complete. The loop also ends
    // when the run of the informer ends.
    while (this.#opening?.signal.aborted === false || this.#refilling !== undefined) await this.#filled;
  }

  /**
   * Returns the objects that an index has under a value. If the informer is open and its indexes are still being
   * filled, the call fills them completely before it returns.
   */
  byIndex(name: string, value: string): readonly T[] {
    this.#refilling?.putAll();
    this.#refilling = undefined;
    return Array.from(this.#indexes.keys(name, value), (key) => this.#backing.get(key)).filter(isPresent);
  }

  addHandler(handler: InformerHandler<T>, options: HandlerOptions = {}): HandlerRegistration {
    return this.#handlers.add(handler, options);
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#run.join(signal);
  }

  async #follow(signal: AbortSignal): Promise<void> {
    await this.#backing.follow(signal, {
      added: (state) => this.#push(additionOf(state, { initial: false })),
      updated: (previous, state) => this.#push(updateOf(previous, state)),
      deleted: (last) => this.#push(deletionOf(last)),
      open: () => this.#open(signal),
    });
    this.#opening = undefined;
    this.#refilling = undefined;
    this.#handlers.close();
    // The cache is cleared only after the handlers have settled, because a handler that still runs can read it.
    const left = await this.#handlers.drained(drainLimitMs);
    if (left > 0) this.#onLeft(left);
    this.#isOpen = false;
    this.#indexes.clear();
  }

  #open(signal: AbortSignal): void {
    if (this.#opening !== undefined) return;
    if (!this.#isOpen && !this.#indexes.isEmpty) {
      this.#filled = this.#openIndexed(signal);
      return;
    }
    this.#isOpen = true;
    this.#fillIndexes();
    this.#handlers.open();
  }

  /**
   * Puts all objects into the indexes, then delivers them to the handlers that have not received them. Never rejects.
   */
  async #openIndexed(signal: AbortSignal): Promise<void> {
    this.#indexes.clear();
    const opening: Opening<T> = { signal, filling: this.#newFilling() };
    this.#opening = opening;
    while (opening.filling.putSome(this.#clock)) {
      await nextTurn();
      if (signal.aborted || this.#opening !== opening) return;
    }
    this.#opening = undefined;
    this.#isOpen = true;
    this.#handlers.open();
  }

  #push(event: ObjectEvent<T>): void {
    if ((this.#isOpen || this.#opening !== undefined) && !this.#indexes.isEmpty) {
      this.#opening?.filling.leaveOut(event.key);
      this.#refilling?.leaveOut(event.key);
      if (event.kind === 'delete') this.#indexes.delete(event.key);
      else this.#indexes.put(event);
    }
    this.#handlers.push(event);
  }

  /**
   * Starts to put all objects into the indexes. This takes several turns of the event loop, unless a read of an index
   * completes it earlier.
   */
  #fillIndexes(): void {
    this.#refilling = undefined;
    if (!this.#indexes.isEmpty) this.#filled = this.#refill(this.#newFilling());
  }

  /** Puts the objects of the cache into the indexes, some in each turn of the event loop. Never rejects. */
  async #refill(filling: IndexFilling<T>): Promise<void> {
    this.#refilling = filling;
    while (filling.putSome(this.#clock)) {
      await nextTurn();
      // `#refilling` has changed when a newer call has begun to fill the indexes, when `byIndex` has put in the
      // remaining objects, or when the informer has ended. This call must then put in no more objects.
      if (this.#refilling !== filling) return;
    }
    this.#refilling = undefined;
  }

  #newFilling(): IndexFilling<T> {
    return new IndexFilling(this.#backing.objectSteps(), (state) => this.#indexes.put(state));
  }

  #present(as: 'initial' | 'resync'): Iterable<ObjectEvent<T>> {
    return eventsOf(this.#backing.objects(), as);
  }
}

function eventsOf<T extends ApiObject>(
  states: Iterable<KeyedObject<T>>,
  as: 'initial' | 'resync',
): Iterable<ObjectEvent<T>> {
  return {
    *[Symbol.iterator]() {
      for (const state of states)
        yield as === 'initial' ? additionOf(state, { initial: true }) : updateOf(state, state);
    },
  };
}

function isPresent<V>(value: V | undefined): value is V {
  return value !== undefined;
}

/**
 * Throws BadRequest for a selection that no informer can follow. Only the server can find other mistakes, such as a
 * field without an index; it reports them later.
 */
function checkSelection<T extends ApiObject>(model: Model<T>, options: InformerOptions<T>): void {
  parseLabelSelector(options.labelSelector ?? '');
  parseFieldSelector(options.fieldSelector ?? '');
  const { namespaces } = options;
  if (namespaces === undefined) return;
  const { kind, scope } = descriptorOf(model);
  if (scope === 'Cluster') throw new ApiError('BadRequest', `namespaces: ${kind} is Cluster-scoped`);
  if (namespaces.length === 0 || namespaces.length > maxNamespaces) {
    throw new ApiError('BadRequest', `namespaces: must have 1 to ${maxNamespaces} items, has ${namespaces.length}`);
  }
  if (new Set(namespaces).size < namespaces.length)
    throw new ApiError('BadRequest', 'namespaces: an item occurs twice');
  for (const [index, namespace] of namespaces.entries()) {
    const [message] = checkDnsLabel(namespace);
    if (message !== undefined) throw new ApiError('BadRequest', `namespaces[${index}]: ${message}`);
  }
}
