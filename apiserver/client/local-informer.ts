import { HandlerBuffer } from '@homeostat/controller-runtime';
import type {
  HandlerEvent,
  HandlerRegistration,
  Informer,
  InformerHandler,
  InformerOptions,
} from '@homeostat/controller-runtime';
import { formatKey, parseFieldSelector, parseLabelSelector } from '@homeostat/controller-runtime/api';
import type { ApiObject, Logger, ModelDescriptor, ObjectKey } from '@homeostat/controller-runtime/api';
import type { FeedChange } from '../index/change-feed.ts';
import type { Entry } from '../index/entry.ts';
import type { Lister, Selection } from '../registry/lister.ts';
import type { Resource } from '../registry/resource.ts';
import type { ResourceTable } from '../registry/resource-table.ts';
import type { Revisions } from '../registry/revisions.ts';
import { translate } from '../registry/watch-translation.ts';
import type { Translated } from '../registry/watch-translation.ts';
import type { ObjectReader } from './object-reader.ts';

export interface LocalInformerParts {
  readonly model: ModelDescriptor;
  readonly options: InformerOptions;
  readonly lister: Lister;
  readonly table: ResourceTable;
  readonly revisions: Revisions;
  readonly reader: ObjectReader;
  readonly logger: Logger;
}

/** The kind while it is followed. */
interface Followed<T> {
  readonly resource: Resource;
  /** Parses an object, in the version that is followed. @throws ApiError InternalError when it cannot be converted. */
  readonly read: (entry: Entry) => T;
  readonly selection: Selection;
  readonly unsubscribe: () => void;
}

/** An informer whose cache is the server's own: no copy, never behind. It stops following when the kind goes. */
export class LocalInformer<T extends ApiObject> implements Informer<T> {
  readonly #parts: LocalInformerParts;
  readonly #buffers = new Set<HandlerBuffer<T>>();
  #followed: Followed<T> | undefined;
  #users = 0;

  constructor(parts: LocalInformerParts) {
    this.#parts = parts;
  }

  get resourceVersion(): string {
    return this.#followed === undefined ? '0' : String(this.#parts.revisions.current);
  }

  get(key: ObjectKey): T | undefined {
    if (this.#followed === undefined) return undefined;
    const { resource, selection, read } = this.#followed;
    const entry = resource.cache.get(formatKey(key));
    return entry !== undefined && selection.selects(entry) ? read(entry) : undefined;
  }

  list(): readonly T[] {
    return this.#followed?.selection.entries().map(this.#followed.read) ?? [];
  }

  hasSynced(): boolean {
    return this.#followed !== undefined;
  }

  addHandler(handler: InformerHandler<T>): HandlerRegistration {
    const buffer = new HandlerBuffer<T>(handler, {
      report: (err) =>
        this.#parts.logger.error(
          { err, kind: this.#parts.model.kind },
          'an informer handler failed; it goes on with the next event',
        ),
      onRemove: () => this.#buffers.delete(buffer),
    });
    this.#buffers.add(buffer);
    if (this.#followed !== undefined) this.#pushInitial(buffer);
    return buffer;
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#users += 1;
    try {
      if (this.#users === 1) this.#follow(await this.#parts.table.whenReady(this.#parts.model));
      if (!signal.aborted) await aborted(signal);
    } finally {
      this.#users -= 1;
      if (this.#users === 0) this.#unfollow();
    }
    await Promise.all([...this.#buffers].map((buffer) => buffer.drained()));
  }

  #follow(resource: Resource): void {
    const { options, lister, reader } = this.#parts;
    const selection = lister.select(resource, {
      labelSelector: parseLabelSelector(options.labelSelector ?? ''),
      fieldSelector: parseFieldSelector(options.fieldSelector ?? ''),
      sort: [{ field: 'metadata.creationTimestamp', direction: 'asc' }],
      ...(options.namespace === undefined ? {} : { namespace: options.namespace }),
    });
    const read = (entry: Entry): T => reader.read<T>(resource.show(entry));
    this.#followed = {
      resource,
      selection,
      read,
      unsubscribe: resource.feed.subscribe((change) => this.#onChange(change)),
    };
    for (const buffer of this.#buffers) this.#pushInitial(buffer);
  }

  #unfollow(): void {
    this.#followed?.unsubscribe();
    this.#followed = undefined;
  }

  #pushInitial(buffer: HandlerBuffer<T>): void {
    for (const entry of this.#followed?.selection.entries() ?? []) buffer.push(this.#added(entry, true));
    buffer.push({ kind: 'synced' });
  }

  #onChange(change: FeedChange): void {
    const { selection } = this.#followed as Followed<T>;
    const seen = translate(change, selection.selects);
    if (seen === undefined) return;
    for (const buffer of this.#buffers) buffer.push(this.#eventOf(seen, change.previous));
  }

  #eventOf({ type, entry }: Translated, previous: Entry = entry): HandlerEvent<T> {
    const { read } = this.#followed as Followed<T>;
    if (type === 'ADDED') return this.#added(entry, false);
    if (type === 'DELETED')
      return {
        kind: 'delete',
        key: entry.key,
        get object() {
          return read(entry);
        },
      };
    return {
      kind: 'update',
      key: entry.key,
      get previous() {
        return read(previous);
      },
      get object() {
        return read(entry);
      },
    };
  }

  /** The object is parsed when the event is delivered: a hundred thousand of them may wait. */
  #added(entry: Entry, initial: boolean): HandlerEvent<T> {
    const { read } = this.#followed as Followed<T>;
    return {
      kind: 'add',
      key: entry.key,
      initial,
      get object() {
        return read(entry);
      },
    };
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
