import { ApiError, parseFieldSelector, parseLabelSelector } from '@homeostat/controller-runtime/api';
import type { ApiObject, WatchEvent } from '@homeostat/controller-runtime/api';
import type { WatchOptions } from '@homeostat/controller-runtime';
import type { Entry } from '../index/entry.ts';
import type { Lister, Selection } from '../registry/reads/lister.ts';
import { PendingConversion } from '../registry/kinds/pending-conversion.ts';
import type { Resource } from '../registry/kinds/resource.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import { parseRevision } from '../registry/history/revisions.ts';
import type { Revisions } from '../registry/history/revisions.ts';
import { translate } from '../registry/follow/watch-translation.ts';
import { nextTurn } from '../turns/next-turn.ts';
import type { ObjectReader } from './object-reader.ts';

export interface LocalWatchParts {
  readonly resource: () => Promise<Resource>;
  readonly lister: Lister;
  readonly table: ResourceTable;
  readonly revisions: Revisions;
  readonly reader: ObjectReader;
  /**
   * Throws ApiError Forbidden when the watch is not allowed. It is called when the watch starts, and before the next
   * event after permissions have changed.
   */
  readonly check: () => void;
  readonly onChange: (listener: () => void) => () => void;
}

/**
 * The number of changes that a watch reads in one step, even if it reports none of them. A step takes about half a
 * millisecond for changes that are not reported, and some milliseconds for changes that are.
 */
const readPerStep = 512;

/** The position of the watch in the change feed of its kind. */
interface Place {
  readonly resource: Resource;
  readonly selection: Selection;
  /** Objects that are reported as ADDED first. */
  readonly initial: Iterator<Entry>;
  /**
   * The result that was last taken from {@link initial}, until its object is reported; then undefined. When the object
   * must first be converted by a webhook, the watch keeps the result here, and reports the object after the conversion.
   */
  next?: IteratorResult<Entry> | undefined;
  readonly release: () => void;
  revision: number;
  /** True when the last step ended before the end of the feed. */
  hasMore: boolean;
  markInitialEnd: boolean;
}

/**
 * A watch without a connection. It allows one call of `next` at a time, as `for await` makes them. `next` rejects with
 * Expired when the feed no longer has the next change, or when the kind is no longer served. `return` and the signal
 * end the watch even while a call of `next` waits.
 */
export class LocalWatch<T extends ApiObject> implements AsyncIterableIterator<WatchEvent<T>, undefined> {
  readonly #parts: LocalWatchParts;
  readonly #options: WatchOptions;
  readonly #waiting: WatchEvent<T>[] = [];
  #place: Place | undefined;
  #isDone = false;
  #isClosed = false;
  /** True when permissions have changed, so that the watch has to be checked again. */
  #isDoubtful = false;
  #wake: (() => void) | undefined;

  constructor(parts: LocalWatchParts, options: WatchOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<WatchEvent<T>, undefined>> {
    if (this.#isOver()) return this.return();
    try {
      const place = (this.#place ??= await this.#opened());
      while (place !== undefined && !this.#isOver()) {
        if (this.#isDoubtful) this.#parts.check();
        this.#isDoubtful = false;
        const event = this.#waiting.shift() ?? this.#nextOf(place);
        if (event instanceof PendingConversion) {
          await event.fetch();
          continue;
        }
        if (event !== undefined) return { done: false, value: event };
        if (this.#isClosed) throw new ApiError('Expired', 'the kind is no longer served');
        await (place.hasMore ? nextTurn() : new Promise<void>((resolve) => (this.#wake = resolve)));
      }
    } catch (error) {
      await this.return();
      throw error;
    }
    return this.return();
  }

  return(): Promise<IteratorReturnResult<undefined>> {
    this.#isDone = true;
    this.#waiting.length = 0;
    this.#place?.release();
    this.#place = undefined;
    this.#wakeUp();
    return Promise.resolve({ done: true, value: undefined });
  }

  /**
   * Returns the position in the feed; undefined when the watch ends first. This may take minutes, while the kind is
   * being indexed.
   */
  async #opened(): Promise<Place | undefined> {
    const { signal } = this.#options;
    let end = (): void => {};
    const ended = new Promise<undefined>((resolve) => (end = () => resolve(undefined)));
    this.#wake = end;
    signal?.addEventListener('abort', end);
    const opening = this.#open().then((place) => {
      if (this.#isOver()) place?.release();
      return place;
    });
    try {
      return await Promise.race([opening, ended]);
    } finally {
      signal?.removeEventListener('abort', end);
    }
  }

  async #open(): Promise<Place | undefined> {
    const { lister, revisions } = this.#parts;
    const { sendInitialEvents, allowBookmarks } = this.#options;
    this.#parts.check();
    const resource = await this.#parts.resource();
    if (this.#isOver()) return undefined;
    const after = parseRevision(this.#options.resourceVersion ?? '');
    const withInitial = sendInitialEvents ?? after === 0;
    const reached = withInitial || after === 0 ? revisions.reach(this.#options.resourceVersion) : undefined;
    if (reached !== undefined) await reached;
    const selection = selectionOf(lister, resource, this.#options);
    const prepared = withInitial ? selection.prepare() : undefined;
    if (prepared !== undefined) await prepared;
    return {
      resource,
      selection,
      release: this.#follow(resource),
      // Entries and revision are read in one turn, so that later changes are in the feed.
      initial: (withInitial ? selection.entries() : [])[Symbol.iterator](),
      revision: withInitial || after === 0 ? revisions.current : after,
      hasMore: false,
      markInitialEnd: sendInitialEvents === true && allowBookmarks === true,
    };
  }

  /**
   * Wakes the watch when an object of its kind changes, when the kind closes, when permissions change, and when the
   * signal aborts. Returns a function that removes the listeners.
   */
  #follow(resource: Resource): () => void {
    const { signal } = this.#options;
    // The kind may have closed while `#open` waited.
    this.#isClosed = resource.isClosed;
    const notify = (): void => this.#wakeUp();
    const unsubscribe = resource.feed.subscribe(notify);
    const onClosed = (closed: Resource): void => {
      this.#isClosed ||= closed === resource.storage;
      notify();
    };
    this.#parts.table.on('closed', onClosed);
    const unfollow = this.#parts.onChange(() => {
      this.#isDoubtful = true;
      notify();
    });
    signal?.addEventListener('abort', notify);
    return () => {
      unsubscribe();
      unfollow();
      this.#parts.table.off('closed', onClosed);
      signal?.removeEventListener('abort', notify);
    };
  }

  /**
   * Returns the next event, or the conversion that has to be fetched before the event can be shown. undefined when
   * there is no further change yet.
   */
  #nextOf(place: Place): WatchEvent<T> | PendingConversion | undefined {
    try {
      return this.#nextInitial(place) ?? this.#nextChange(place);
    } catch (error) {
      if (error instanceof PendingConversion) return error;
      throw error;
    }
  }

  #nextInitial(place: Place): WatchEvent<T> | undefined {
    place.next ??= place.initial.next();
    if (place.next.done !== true) {
      const object = this.#parts.reader.read<T>(place.resource.show(place.next.value));
      place.next = undefined;
      return { type: 'ADDED', object };
    }
    if (!place.markInitialEnd) return undefined;
    place.markInitialEnd = false;
    return initialEnd(place.resource, place.revision);
  }

  #nextChange(place: Place): WatchEvent<T> | undefined {
    let read = 0;
    place.hasMore = false;
    for (const change of place.resource.feed.since(place.revision)) {
      place.hasMore = read === readPerStep;
      if (place.hasMore) break;
      read += 1;
      const seen = translate(change, place.selection.selects);
      const entry = seen === undefined ? undefined : place.resource.show(seen.entry);
      // The position advances only here, so that this change is tried again if the code above throws because a
      // conversion has to be fetched first.
      place.revision = change.revision;
      if (seen === undefined || entry === undefined) continue;
      this.#waiting.push({ type: seen.type, object: this.#parts.reader.read<T>(entry) });
    }
    return this.#waiting.shift();
  }

  #isOver(): boolean {
    return this.#isDone || this.#options.signal?.aborted === true;
  }

  #wakeUp(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}

function selectionOf(lister: Lister, resource: Resource, options: WatchOptions): Selection {
  return lister.select(resource, {
    labelSelector: parseLabelSelector(options.labelSelector ?? ''),
    fieldSelector: parseFieldSelector(options.fieldSelector ?? ''),
    sort: [{ field: 'metadata.creationTimestamp', direction: 'asc' }],
    ...(options.namespace === undefined ? {} : { namespace: options.namespace }),
  });
}

function initialEnd<T extends ApiObject>(resource: Resource, revision: number): WatchEvent<T> {
  const metadata = { resourceVersion: String(revision), annotations: { 'k8s.io/initial-events-end': 'true' } };
  return { type: 'BOOKMARK', object: { apiVersion: resource.apiVersion, kind: resource.model.kind, metadata } };
}
