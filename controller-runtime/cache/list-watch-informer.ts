import { formatKey, keyOf } from '../api/index.ts';
import type { ApiObject, ObjectKey, WatchEvent } from '../api/index.ts';
import { HandlerBuffer } from './handler-buffer.ts';
import type { HandlerEvent } from './handler-event.ts';
import type { HandlerRegistration, Informer, InformerHandler } from '../client/informer.ts';
import { Reflector } from './reflector.ts';
import type { ReflectorOptions, ReflectorSink } from './reflector.ts';

/** An informer over any client's list and watch, with a copy of the objects of its own. */
export function createInformer<T extends ApiObject>(options: ReflectorOptions<T>): Informer<T> {
  return new ListWatchInformer(options);
}

class ListWatchInformer<T extends ApiObject> implements Informer<T> {
  readonly #options: ReflectorOptions<T>;
  readonly #reflector: Reflector<T>;
  readonly #objects = new Map<string, T>();
  readonly #buffers = new Set<HandlerBuffer<T>>();
  #revision = '0';
  #synced = false;
  #run: SharedRun | undefined;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    const sink: ReflectorSink<T> = {
      replace: (items, revision) => this.#replace(items, revision),
      apply: (event) => this.#apply(event),
      advance: (revision) => {
        this.#revision = revision;
      },
    };
    this.#reflector = new Reflector(options, sink);
  }

  get resourceVersion(): string {
    return this.#revision;
  }

  get(key: ObjectKey): T | undefined {
    return this.#objects.get(formatKey(key));
  }

  list(): readonly T[] {
    return [...this.#objects.values()];
  }

  hasSynced(): boolean {
    return this.#synced;
  }

  addHandler(handler: InformerHandler<T>): HandlerRegistration {
    const buffer = new HandlerBuffer(handler, {
      report: (error) =>
        this.#options.logger.error({ err: error }, 'an informer handler failed; it goes on with the next event'),
      onRemove: () => this.#buffers.delete(buffer),
    });
    this.#buffers.add(buffer);
    if (this.#synced) {
      for (const object of this.#objects.values()) buffer.push({ kind: 'add', object, initial: true });
      buffer.push({ kind: 'synced' });
    }
    return buffer;
  }

  async run(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    this.#run ??= this.#start();
    const run = this.#run;
    run.users += 1;
    await aborted(signal);
    run.users -= 1;
    if (run.users > 0) return;
    // From here on a new caller begins a run of its own, which waits for the end of this one.
    run.stop.abort();
    if (this.#run === run) this.#run = undefined;
    await run.ended;
  }

  #start(): SharedRun {
    const stop = new AbortController();
    const ended = this.#lastEnd.then(() => this.#follow(stop.signal));
    this.#lastEnd = ended;
    return { stop, ended, users: 0 };
  }

  #lastEnd: Promise<void> = Promise.resolve();

  async #follow(signal: AbortSignal): Promise<void> {
    await this.#reflector.run(signal);
    for (const buffer of this.#buffers) await buffer.drained();
  }

  #replace(items: readonly T[], revision: string): void {
    const initial = !this.#synced;
    const gone = new Map(this.#objects);
    for (const object of items) {
      gone.delete(formatKey(keyOf(object)));
      this.#put(object, initial);
    }
    for (const object of gone.values()) this.#drop(object);
    this.#revision = revision;
    this.#synced = true;
    if (initial) this.#push({ kind: 'synced' });
  }

  #apply({ type, object }: Exclude<WatchEvent<T>, { readonly type: 'BOOKMARK' | 'ERROR' }>): void {
    if (type === 'DELETED') this.#drop(object);
    else this.#put(object, false);
    this.#revision = object.metadata.resourceVersion;
  }

  #put(object: T, initial: boolean): void {
    const key = formatKey(keyOf(object));
    const previous = this.#objects.get(key);
    this.#objects.set(key, object);
    if (previous === undefined) return this.#push({ kind: 'add', object, initial });
    if (previous.metadata.resourceVersion === object.metadata.resourceVersion) return undefined;
    if (previous.metadata.uid === object.metadata.uid) return this.#push({ kind: 'update', previous, object });
    // Deleted and made again while nobody looked: another object, not another state.
    this.#push({ kind: 'delete', object: previous });
    return this.#push({ kind: 'add', object, initial });
  }

  #drop(object: T): void {
    if (this.#objects.delete(formatKey(keyOf(object)))) this.#push({ kind: 'delete', object });
  }

  #push(event: HandlerEvent<T>): void {
    for (const buffer of this.#buffers) buffer.push(event);
  }
}

interface SharedRun {
  readonly stop: AbortController;
  readonly ended: Promise<void>;
  users: number;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
