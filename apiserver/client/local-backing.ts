import type {
  BackingSink,
  InformerBacking,
  InformerOptions,
  KeyedObject,
  ObjectShape,
} from '@homeostat/controller-runtime';
import { parseFieldSelector, parseLabelSelector } from '@homeostat/controller-runtime/api';
import type { ApiObject, Logger, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { isBroken } from '../index/broken-entry.ts';
import type { FeedChange } from '../index/feed-change.ts';
import type { Entry } from '../index/entry.ts';
import type { Lister, Selection, SelectionRequest } from '../registry/reads/lister.ts';
import type { Resource } from '../registry/kinds/resource.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import type { Revisions } from '../registry/history/revisions.ts';
import { translate } from '../registry/follow/watch-translation.ts';
import { nextTurn } from '../turns/next-turn.ts';
import { FrozenEntries } from './frozen-entries.ts';
import { tellDifferences } from './known-state.ts';
import type { KnownState } from './known-state.ts';
import type { ObjectReader } from './object-reader.ts';
import { whenServed } from './when-served.ts';

export interface LocalBackingParts<T extends ApiObject> {
  readonly model: ModelDescriptor;
  readonly selection: InformerOptions<T>;
  readonly shape: ObjectShape<T>;
  readonly lister: Lister;
  readonly table: ResourceTable;
  readonly revisions: Revisions;
  readonly reader: ObjectReader;
  readonly logger: Logger;
  /**
   * Throws ApiError Forbidden when the informer may not follow its kind. It is called each time before the informer
   * follows the kind, and after each change of permissions.
   */
  readonly check: () => void;
  readonly onChange: (listener: () => void) => () => void;
}

/**
 * When a kind with more than this number of objects is no longer served, each of its informers waits for
 * {@link nextTurn} before it collects the objects that it selects. To collect this number takes about a millisecond.
 */
const collectedAtOnce = 5_000;

/** The objects that an informer selects from one {@link Resource}. A kind that is opened again has a new Resource. */
interface Followed extends Pick<Selection, 'selects' | 'entries'> {
  readonly resource: Resource;
  readonly find: (key: string) => Entry | undefined;
  /** Builds the missing indexes that select the objects; returns undefined when no index is missing. */
  readonly prepare: () => Promise<unknown> | undefined;
}

/**
 * Connects an informer in the server's process to the server's cache, without a copy of the objects and without a
 * delay. While a kind is not served, or the informer is not allowed to follow it, the informer keeps the objects that
 * it had before.
 */
export class LocalBacking<T extends ApiObject> implements InformerBacking<T> {
  readonly #parts: LocalBackingParts<T>;
  /**
   * For each parsed object, the object that handlers receive: an option of the informer may change the shape of
   * objects.
   */
  readonly #shaped = new WeakMap<T, T>();
  #followed: Followed | undefined;
  /** The objects that handlers knew when the informer last stopped following the kind. */
  #before: Before | undefined;
  /**
   * The {@link Resource} from which the informer's indexes were filled. When the kind is opened again, `follow` calls
   * `open` of the informer, which fills its indexes again.
   */
  #opened: Resource | undefined;

  constructor(parts: LocalBackingParts<T>) {
    this.#parts = parts;
  }

  get revision(): string {
    return String(this.#parts.revisions.current);
  }

  get(key: string): T | undefined {
    if (this.#followed === undefined) return undefined;
    const { resource, selects, find } = this.#followed;
    const entry = find(key);
    return entry !== undefined && selects(entry) ? this.#read(entry, resource) : undefined;
  }

  objects(): Iterable<KeyedObject<T>> {
    if (this.#followed === undefined) return [];
    const { resource, entries } = this.#followed;
    const present = entries();
    const stateOf = (entry: Entry): KeyedObject<T> => this.#stateOf(entry, resource);
    return {
      *[Symbol.iterator]() {
        for (const entry of present) yield stateOf(entry);
      },
    };
  }

  objectSteps(): Iterable<KeyedObject<T> | undefined> {
    if (this.#followed === undefined) return [];
    const { resource, entries } = this.#followed;
    return this.#readEach(entries(), resource);
  }

  /** Returns the states of all objects. Each object is parsed only when it is read. */
  states(): readonly KnownState<T>[] {
    if (this.#followed === undefined) return [];
    const { resource, entries } = this.#followed;
    return this.#statesOf(entries(), resource);
  }

  async follow(signal: AbortSignal, sink: BackingSink<T>): Promise<void> {
    const { table, model } = this.#parts;
    this.#opened = undefined;
    while (!signal.aborted) {
      const resource = await whenServed(table, model, signal);
      await this.#whenAllowed(signal);
      if (resource !== undefined) await this.#followLife(resource, signal, sink);
    }
  }

  /**
   * Follows a kind until it is no longer served, until the informer loses its permission, or until the signal aborts.
   */
  async #followLife(resource: Resource, signal: AbortSignal, sink: BackingSink<T>): Promise<void> {
    const { table } = this.#parts;
    const followed = this.#select(resource);
    const prepared = followed.prepare();
    if (prepared !== undefined) await prepared;
    // During the wait, the signal may have aborted, the kind may have closed, or the informer may have lost its
    // permission.
    if (signal.aborted || resource.isClosed || this.#refusal() !== undefined) return;
    this.#followed = followed;
    // The subscription starts in the same turn in which the entries are read, so that no change is missed.
    const unsubscribe = resource.feed.subscribe((change) => this.#tell(change, followed, sink));
    this.#tellDifferences(followed, sink);
    // `open` fills the informer's indexes: at the start, and when the kind is registered again. If the informer only
    // lost and regained its permission, its indexes still have the objects, and the differences were reported above.
    if (this.#opened !== resource) sink.open();
    this.#opened = resource;
    let kept: FrozenEntries | undefined;
    await new Promise<void>((resolve) => {
      const unfollow = this.#parts.onChange(() => {
        if (kept !== undefined || this.#refusal() === undefined) return;
        // In the turn in which the informer loses its permission, its subscription ends and its cache is frozen. So the
        // cache contains the same changes that the handlers receive.
        unsubscribe();
        kept = new FrozenEntries(resource, followed.selects);
        this.#followed = frozenBy(kept, followed);
        finish();
      });
      const finish = (): void => {
        unfollow();
        table.off('closed', onClosed);
        signal.removeEventListener('abort', finish);
        resolve();
      };
      const onClosed = (closed: Resource): void => {
        if (closed === resource.storage) finish();
      };
      table.on('closed', onClosed);
      signal.addEventListener('abort', finish);
      if (signal.aborted || resource.isClosed) finish();
    });
    unsubscribe();
    // When a kind is no longer served, each of its informers collects the objects that it selects. If the kind has many
    // objects, the informers do this one after another, in as many turns of the event loop as they need.
    if (kept !== undefined) await kept.whole;
    else if (resource.cache.size > collectedAtOnce) await nextTurn();
    this.#before = { resource, entries: (kept ?? followed).entries(), kept };
  }

  /** Returns the reason why the informer may not follow the kind; undefined when it may. */
  #refusal(): Error | undefined {
    try {
      this.#parts.check();
      return undefined;
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  /** Resolves once the informer may follow the kind, or the signal aborts. */
  async #whenAllowed(signal: AbortSignal): Promise<void> {
    const err = this.#refusal();
    if (err === undefined || signal.aborted) return;
    const { logger, model, onChange } = this.#parts;
    logger.warn(
      { err, kind: model.kind },
      'an informer is not allowed to follow its kind, and waits for the permission',
    );
    await new Promise<void>((resolve) => {
      const look = (): void => {
        if (!signal.aborted && this.#refusal() !== undefined) return;
        unfollow();
        signal.removeEventListener('abort', look);
        resolve();
      };
      const unfollow = onChange(look);
      signal.addEventListener('abort', look);
    });
  }

  #select(resource: Resource): Followed {
    const { lister, selection } = this.#parts;
    const request: SelectionRequest = {
      labelSelector: parseLabelSelector(selection.labelSelector ?? ''),
      fieldSelector: parseFieldSelector(selection.fieldSelector ?? ''),
      sort: [{ field: 'metadata.creationTimestamp', direction: 'asc' }],
    };
    const selections = selection.namespaces?.map((namespace) => lister.select(resource, { ...request, namespace })) ?? [
      lister.select(resource, request),
    ];
    return {
      resource,
      find: (key) => resource.cache.get(key),
      selects: (entry) => selections.some((each) => each.selects(entry)),
      prepare: () => {
        const missing = selections.map((each) => each.prepare()).filter((each) => each !== undefined);
        return missing.length === 0 ? undefined : Promise.all(missing);
      },
      entries: () => selections.flatMap((each) => each.entries()),
    };
  }

  #tellDifferences(followed: Followed, sink: BackingSink<T>): void {
    // When the informer runs for the first time, no handler has received an object yet: open() delivers all objects.
    if (this.#before === undefined) return;
    const { resource } = followed;
    const { resource: last, entries: before, kept } = this.#before;
    this.#before = undefined;
    const changed = resource === last && kept !== undefined ? changedSince(kept.revision, resource) : undefined;
    const known = changed === undefined || kept === undefined ? before : foundOf(changed, (key) => kept.find(key));
    const present = changed === undefined ? followed.entries() : selectedOf(changed, followed);
    tellDifferences(this.#statesOf(known, last), this.#statesOf(present, resource), sink);
  }

  #tell(change: FeedChange, { resource, selects }: Followed, sink: BackingSink<T>): void {
    const seen = translate(change, selects);
    if (seen === undefined) return undefined;
    // The handlers never received a broken object, so they are not told that it was deleted.
    if (seen.type === 'DELETED' && change.previous !== undefined && isBroken(change.previous)) return undefined;
    const state = this.#stateOf(seen.entry, resource);
    if (seen.type === 'ADDED') return sink.added(state);
    if (seen.type === 'DELETED') return sink.deleted(state);
    return sink.updated(this.#stateOf(change.previous ?? seen.entry, resource), state);
  }

  /**
   * Returns the state of an entry. Its object is parsed only when it is read, because a hundred thousand states may
   * wait for a handler. `resource` must be the {@link Resource} that had the entry: when the kind is opened again, its
   * new Resource may have another storage version.
   */
  #stateOf(entry: Entry, resource: Resource): KnownState<T> {
    return new EntryState(entry, (each) => this.#read(each, resource));
  }

  #statesOf(entries: readonly Entry[], resource: Resource): readonly KnownState<T>[] {
    const read = (entry: Entry): T => this.#read(entry, resource);
    return entries.map((entry) => new EntryState(entry, read));
  }

  *#readEach(entries: readonly Entry[], resource: Resource): Generator<KeyedObject<T> | undefined> {
    for (const entry of entries) {
      const read = yield* settledSteps(this.#readOnce(entry, resource));
      yield {
        key: entry.key,
        get object() {
          return read();
        },
      };
    }
  }

  *#readOnce(entry: Entry, resource: Resource): Generator<undefined, T, undefined> {
    const { reader, shape } = this.#parts;
    const whole = yield* reader.readOnce<T>(resource.show(entry));
    return this.#shaped.get(whole) ?? shape(whole);
  }

  #read(entry: Entry, resource: Resource): T {
    const { reader, shape } = this.#parts;
    const whole = reader.read<T>(resource.show(entry));
    const shaped = this.#shaped.get(whole) ?? shape(whole);
    this.#shaped.set(whole, shaped);
    return shaped;
  }
}

/**
 * An entry as handlers get it: its object is parsed only when `object` is read. An instance is small, because a hundred
 * thousand of them may be created in one step.
 */
class EntryState<T extends ApiObject> implements KnownState<T> {
  readonly #entry: Entry;
  readonly #read: (entry: Entry) => T;

  constructor(entry: Entry, read: (entry: Entry) => T) {
    this.#entry = entry;
    this.#read = read;
  }

  get key(): string {
    return this.#entry.key;
  }

  get uid(): string | undefined {
    return this.#entry.uid;
  }

  get revision(): number {
    return this.#entry.revision;
  }

  get object(): T {
    return this.#read(this.#entry);
  }
}

/** Runs all steps. Its result is a function that returns the result of the steps, or throws their error. */
function* settledSteps<R>(steps: Generator<undefined, R, undefined>): Generator<undefined, () => R, undefined> {
  try {
    const result = yield* steps;
    return () => result;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/**
 * Returns the keys of the objects that have changed after a revision; undefined when the feed no longer has these
 * changes.
 */
function changedSince(revision: number, { feed }: Resource): ReadonlySet<string> | undefined {
  return revision < feed.floor ? undefined : new Set(Array.from(feed.since(revision), ({ entry }) => entry.key));
}

function foundOf(keys: ReadonlySet<string>, find: Followed['find']): Entry[] {
  return Array.from(keys, find).filter((entry) => entry !== undefined);
}

function selectedOf(keys: ReadonlySet<string>, { find, selects }: Followed): Entry[] {
  return foundOf(keys, find).filter(selects);
}

/**
 * The objects that the informer had when it last stopped following its kind, so its handlers know them. When it follows
 * the kind again, the handlers receive the differences from these objects.
 */
interface Before {
  readonly resource: Resource;
  readonly entries: readonly Entry[];
  /** The copy of the objects, if the informer lost its permission; undefined if it stopped for another reason. */
  readonly kept: FrozenEntries | undefined;
}

/** Returns the objects that were selected when the informer lost its permission. Later changes do not affect them. */
function frozenBy(kept: FrozenEntries, followed: Followed): Followed {
  return { ...followed, find: (key) => kept.find(key), selects: () => true, entries: () => kept.entries() };
}
