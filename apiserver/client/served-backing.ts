import type { BackingSink, InformerBacking, KeyedObject } from '@homeostat/controller-runtime';
import type { ApiObject, ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { Resource } from '../registry/kinds/resource.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import { tellDifferences } from './known-state.ts';
import type { KnownState } from './known-state.ts';
import { LocalBacking } from './local-backing.ts';
import { whenServed } from './when-served.ts';

export interface ServedBackingParts<T extends ApiObject> {
  readonly model: ModelDescriptor;
  readonly table: ResourceTable;
  /** Creates an `InformerBacking` with which an informer reads the objects in the server's memory. */
  readonly local: () => LocalBacking<T>;
  /** Creates a backing with its own copy of the objects, which lists and watches keep up to date. */
  readonly copy: () => InformerBacking<T>;
}

/**
 * Backs an informer in the server's process with the server's cache. If a webhook converts the objects to the
 * informer's version, backs the informer with a copy instead, because a read of the cache cannot wait for a webhook.
 */
export class ServedBacking<T extends ApiObject> implements InformerBacking<T> {
  readonly #parts: ServedBackingParts<T>;
  #backing: InformerBacking<T>;

  constructor(parts: ServedBackingParts<T>) {
    this.#parts = parts;
    this.#backing = parts.local();
  }

  get revision(): string {
    return this.#backing.revision;
  }

  get(key: string): T | undefined {
    return this.#backing.get(key);
  }

  objects(): Iterable<KeyedObject<T>> {
    return this.#backing.objects();
  }

  objectSteps(): Iterable<KeyedObject<T> | undefined> {
    return this.#backing.objectSteps();
  }

  async follow(signal: AbortSignal, sink: BackingSink<T>): Promise<void> {
    const { table, model } = this.#parts;
    while (!signal.aborted) {
      const resource = await whenServed(table, model, signal);
      if (resource !== undefined) await this.#followAs(needsCopy(resource), signal, sink);
    }
  }

  /**
   * Follows the kind until the signal aborts, or until {@link needsCopy} returns another value than `asCopy` for the
   * kind. If `asCopy` is true, the informer reads its own copy of the objects; otherwise, it reads the server's cache.
   */
  async #followAs(asCopy: boolean, signal: AbortSignal, sink: BackingSink<T>): Promise<void> {
    const { table, model } = this.#parts;
    const life = new AbortController();
    const end = (): void => life.abort();
    const look = (): void => {
      const resource = table.get(model);
      if (resource !== undefined && needsCopy(resource) !== asCopy) end();
    };
    table.on('opened', look);
    signal.addEventListener('abort', end);
    // The kind and the signal are checked again, because they may have changed since the caller checked them.
    look();
    if (signal.aborted) end();
    const isSame = this.#backing instanceof LocalBacking !== asCopy;
    try {
      if (isSame) await this.#backing.follow(life.signal, sink);
      else await this.#replace(asCopy ? this.#parts.copy() : this.#parts.local(), life.signal, sink);
    } finally {
      table.off('opened', look);
      signal.removeEventListener('abort', end);
    }
  }

  /**
   * Replaces the `InformerBacking`, from which the informer reads its objects, with `next`, and follows the kind with
   * `next`. Once `next` has all objects, calls the handlers for the differences between the old and the new objects.
   */
  async #replace(next: InformerBacking<T>, signal: AbortSignal, sink: BackingSink<T>): Promise<void> {
    const known = [...statesOf(this.#backing)];
    let isOpen = false;
    await next.follow(signal, {
      added: (state) => (isOpen ? sink.added(state) : undefined),
      updated: (previous, state) => (isOpen ? sink.updated(previous, state) : undefined),
      deleted: (last) => (isOpen ? sink.deleted(last) : undefined),
      open: () => {
        if (!isOpen) {
          this.#backing = next;
          tellDifferences(known, statesOf(next), sink);
        }
        isOpen = true;
        sink.open();
      },
    });
  }
}

function needsCopy({ view, storage }: Resource): boolean {
  return view !== undefined && storage.convertsByWebhook;
}

function statesOf<T extends ApiObject>(backing: InformerBacking<T>): Iterable<KnownState<T>> {
  if (backing instanceof LocalBacking) return backing.states();
  return Array.from(backing.objects(), ({ key, object }) => {
    const { uid, resourceVersion } = object.metadata;
    return { key, object, uid, revision: Number(resourceVersion) };
  });
}
