import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ApiError, isApiError } from '@homeostat/controller-runtime/api';
import type { Clock, Timer } from '@homeostat/controller-runtime/api';
import type { Entry } from '../../index/entry.ts';
import type { Resource } from '../../registry/kinds/resource.ts';
import type { Selection } from '../../registry/reads/lister.ts';
import { PendingConversion } from '../../registry/kinds/pending-conversion.ts';
import { translate } from '../../registry/follow/watch-translation.ts';
import type { Translated } from '../../registry/follow/watch-translation.ts';
import type { Flushable, FlushCycle } from './flush-cycle.ts';
import type { Batch, FrameFormat } from './watch-frames.ts';
import type { GroupMember, WatchGroup, WatchGroups } from './watch-group.ts';
import { inBounds } from '../../base/in-bounds.ts';

/** The approximate number of bytes that a stream sends at once. It sends more when the client has read these bytes. */
const batchBytes = 256 * 1024;

/**
 * The maximum number of changes that a watch reads in one pass, even if it sends none of them. To read them takes two
 * milliseconds.
 */
const readPerPass = 2048;

/**
 * The interval of heartbeats, by which clients notice a lost connection: by default, `createClient` reconnects after
 * 120 s without a byte.
 */
const heartbeatMs = 20_000;

/** The time that a client has to read the final event. */
const lingerMs = 10_000;

export interface WatchStreamParts {
  readonly response: ServerResponse;
  readonly resource: Resource;
  readonly format: FrameFormat;
  readonly flushes: FlushCycle;
  readonly groups: WatchGroups;
  readonly clock: Clock;
  readonly selection: Pick<Selection, 'selects' | 'key'>;
  /** The objects that are sent first, as ADDED. */
  readonly initial: readonly Entry[];
  /** The revision after which changes are sent. */
  readonly revision: number;
  /** True when a bookmark is sent at the end of the initial objects. */
  readonly markInitialEnd: boolean;
  /**
   * The interval of bookmarks; undefined when the client did not ask for bookmarks, because such a client would mistake
   * them for objects.
   */
  readonly bookmarkIntervalMs: number | undefined;
  readonly timeoutMs: number;
  /** The revision that memory has reached. */
  readonly currentRevision: () => number;
  /**
   * A function that is called with errors that the client did not cause. The client receives a 500; other streams
   * continue.
   */
  readonly onError: (error: unknown) => void;
}

/**
 * The connection of one watcher. It has a position in the change feed of its kind, but no buffer: unread changes remain
 * in the window of the feed, which all watchers share. If the window no longer has the next change, the client receives
 * a 410.
 */
export class WatchStream implements Flushable, GroupMember {
  readonly #parts: WatchStreamParts;
  readonly #timers = new Set<Timer>();
  readonly #group: WatchGroup;
  readonly #onEnd: () => void;
  readonly #unblock: () => void = () => {
    if (!this.#blocked) return;
    this.#blocked = false;
    this.#wake();
  };
  /**
   * The socket, to which chunks are written directly. undefined when Node must write them: for HTTP/1.0, or when
   * another response comes first on the connection.
   */
  readonly #socket: Socket | undefined;
  #sentInitial = 0;
  #revision: number;
  #markInitialEnd: boolean;
  #bookmarkDue = false;
  #dirty = false;
  #blocked = false;
  #isFetching = false;
  #ended = false;

  /** Starts the stream immediately. `onEnd` is called once, whether the client or the server ends the stream. */
  constructor(parts: WatchStreamParts, onEnd: () => void) {
    this.#parts = parts;
    this.#onEnd = onEnd;
    this.#revision = parts.revision;
    this.#markInitialEnd = parts.markInitialEnd;
    const { response, format, bookmarkIntervalMs } = parts;
    // The headers are sent immediately, because client-go blocks until it has them.
    response.writeHead(200, { 'Content-Type': format.contentType, 'Cache-Control': 'no-cache, private' });
    response.flushHeaders();
    this.#socket = response.chunkedEncoding ? (response.socket ?? undefined) : undefined;
    (this.#socket ?? response).on('drain', this.#unblock);
    response.on('close', () => this.#close());
    response.on('error', () => this.#close());
    this.#group = parts.groups.join(this, parts);
    this.#every(heartbeatMs, () => this.#heartbeat());
    if (bookmarkIntervalMs !== undefined) this.#every(bookmarkIntervalMs, () => this.#requestBookmark());
    this.#after(parts.timeoutMs, () => this.end());
    this.#wake();
  }

  /**
   * Sends what is due for this watcher alone, for example a bookmark, or the rest of the events once the client can
   * read again. After a change, {@link WatchGroup} calls `send` instead.
   */
  flush(): boolean {
    this.#dirty = false;
    this.send();
    return false;
  }

  /**
   * Sends the next events, which together have at most about twice {@link batchBytes} bytes. Sends nothing while the
   * client has not read the previous events.
   */
  send(): void {
    if (this.#ended || this.#blocked || this.#isFetching) return;
    try {
      this.#write(this.#collect());
    } catch (error) {
      if (error instanceof PendingConversion) return this.#fetch();
      this.fail(isApiError(error) ? error : this.#internalError(error));
    }
  }

  /**
   * Called when a webhook must convert the next object before `send` can send it. Lets the webhook convert this object
   * and some that follow. Then `send` is called again.
   */
  #fetch(): void {
    this.#isFetching = true;
    const { resource } = this.#parts;
    const proceed = (): void => {
      this.#isFetching = false;
      this.#wake();
    };
    resource.view?.fetch(this.#nextEntries()).then(proceed, (error: unknown) => {
      this.fail(isApiError(error) ? error : this.#internalError(error));
    });
  }

  *#nextEntries(): Generator<Entry, void, undefined> {
    const { initial, resource } = this.#parts;
    for (let at = this.#sentInitial; at < initial.length; at += 1) yield inBounds(initial[at]);
    for (const { entry } of resource.feed.since(this.#revision)) yield entry;
  }

  #internalError(error: unknown): ApiError {
    this.#parts.onError(error);
    return new ApiError('InternalError', 'Internal error occurred');
  }

  /** Sends the reason to the client, and ends the stream. */
  fail(error: ApiError): void {
    if (this.#ended) return;
    const status = Buffer.from(JSON.stringify(error.toStatus()));
    // With an empty id, a browser starts again, instead of asking forever for changes that the server no longer has.
    this.#finish(this.#parts.format.event('ERROR', status, ''));
  }

  /**
   * Ends the stream. If the client asked for bookmarks, and all initial objects were sent, the last event is a bookmark
   * with the revision up to which the client has received all changes.
   */
  end(): void {
    if (this.#ended) return;
    this.send();
    // `send` ends the stream if the window no longer has the stream's next change.
    if (this.#ended) return;
    const { initial, bookmarkIntervalMs } = this.#parts;
    // The client gets no bookmark before it has all initial objects: if it resumed there, it would miss the others.
    const isMarked = bookmarkIntervalMs !== undefined && this.#sentInitial === initial.length;
    this.#finish(isMarked ? this.#bookmark(false) : undefined);
  }

  #wake(): void {
    if (this.#dirty || this.#blocked || this.#ended) return;
    this.#dirty = true;
    this.#parts.flushes.add(this);
  }

  /**
   * Returns the next frames. The initial objects among them have together at most about {@link batchBytes} bytes, and
   * the changes have together at most as many again.
   */
  #collect(): Buffer[] {
    const frames: Buffer[] = [];
    const initialBytes = this.#collectInitial(frames);
    const { initial, resource } = this.#parts;
    // If a webhook converts the objects, the first change may have to wait for the webhook. The initial objects in
    // `frames` are already converted, so this call returns only them, and a later call returns the changes.
    const isEnough = initialBytes > batchBytes || (frames.length > 0 && resource.view !== undefined);
    if (this.#sentInitial < initial.length || isEnough) {
      this.#wake();
      return frames;
    }
    const { bytes, revision } = this.#nextBatch();
    this.#revision = revision;
    if (bytes.length > 0) frames.push(bytes);
    if (revision < resource.feed.revision) {
      this.#wake();
      return frames;
    }
    if (this.#bookmarkDue) frames.push(this.#bookmark(false));
    this.#bookmarkDue = false;
    return frames;
  }

  /**
   * Returns the next batch. Watchers of a group with the same position share it, so that a thousand of them need only
   * one serialization.
   */
  #nextBatch(): Batch {
    const { resource, flushes } = this.#parts;
    const range = { revision: this.#revision, latest: resource.feed.revision };
    return flushes.shared.batchOf(this.#group, range, () => this.#makeBatch());
  }

  #makeBatch(): Batch {
    const { resource, format, flushes, selection } = this.#parts;
    const { selects } = selection;
    const frames: Buffer[] = [];
    let [bytes, read] = [0, 0];
    let revision = this.#revision;
    let isCut = false;
    for (const change of resource.feed.since(revision)) {
      isCut = bytes > batchBytes || read === readPerPass;
      if (isCut) break;
      const seen = translate(change, selects);
      const shown = seen === undefined || resource.view === undefined ? seen : shownIn(resource, seen, read > 0);
      isCut = shown === 'pending';
      if (shown === 'pending') break;
      read += 1;
      revision = change.revision;
      if (shown === undefined) continue;
      const frame = flushes.shared.frameOf(format, shown);
      frames.push(frame);
      bytes += frame.length;
    }
    return { bytes: joined(frames), revision, isCut };
  }

  #collectInitial(frames: Buffer[]): number {
    const { initial, format, resource } = this.#parts;
    let bytes = 0;
    while (this.#sentInitial < initial.length && bytes <= batchBytes) {
      const entry = inBounds(initial[this.#sentInitial]);
      const shown = resource.view === undefined ? entry : shownOrPending(resource, entry, frames.length > 0);
      if (shown === 'pending') break;
      this.#sentInitial += 1;
      // Only the last initial object has a revision from which a client may resume. A client that resumed after an
      // earlier one would miss the rest.
      const isLast = this.#sentInitial === initial.length;
      const frame = format.event('ADDED', shown.bytes, isLast ? String(this.#revision) : undefined);
      frames.push(frame);
      bytes += frame.length;
    }
    if (this.#sentInitial === initial.length && this.#markInitialEnd) {
      frames.push(this.#bookmark(true));
      this.#markInitialEnd = false;
    }
    return bytes;
  }

  /**
   * Returns a bookmark with the revision up to which the stream has sent all changes. If the stream has read all
   * changes in the change feed, this is the revision that memory has reached for all kinds, which may be later than the
   * last change of this kind. The bookmark at the end of the initial objects has the revision of these objects.
   */
  #bookmark(initialEnd: boolean): Buffer {
    const { resource, format, currentRevision } = this.#parts;
    const caughtUp = !initialEnd && resource.feed.revision <= this.#revision;
    const resourceVersion = String(caughtUp ? Math.max(this.#revision, currentRevision()) : this.#revision);
    const annotations = initialEnd ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {};
    const metadata = { resourceVersion, ...annotations };
    const object = { apiVersion: resource.apiVersion, kind: resource.model.kind, metadata };
    return format.event('BOOKMARK', Buffer.from(JSON.stringify(object)), resourceVersion);
  }

  // The chunk is created once for all watchers, and written as one buffer. `response.write` would create three buffers
  // for each watcher, and wait for the next tick. (p50 and p99 of 1,000 watchers: 21 and 43 ms with `response.write`,
  // 14 and 34 ms without.)
  #write(frames: readonly Buffer[]): void {
    if (frames.length === 0) return;
    const { response, flushes } = this.#parts;
    const hasRoom = this.#socket?.write(flushes.shared.chunkOf(frames)) ?? response.write(joined(frames));
    // The system may have taken a large chunk at once. Then there is nothing to wait for.
    this.#blocked = !hasRoom && (this.#socket ?? response).writableLength > 0;
  }

  #heartbeat(): void {
    const { heartbeat } = this.#parts.format;
    // An empty chunk would end the response.
    if (!this.#blocked && heartbeat.length > 0) this.#write([heartbeat]);
    // The feed no longer has the stream's next change. The client does not read, so it cannot receive an error.
    else if (this.#revision < this.#parts.resource.feed.floor) this.#parts.response.destroy();
  }

  #requestBookmark(): void {
    this.#bookmarkDue = true;
    this.#wake();
  }

  #finish(last: Buffer | undefined): void {
    const { response, clock } = this.#parts;
    this.#close();
    response.end(last);
    const timer = clock.setTimeout(() => response.destroy(), lingerMs);
    timer.unref?.();
    response.on('close', () => clock.clearTimeout(timer));
  }

  #close(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#group.delete(this);
    this.#socket?.off('drain', this.#unblock);
    for (const timer of this.#timers) this.#parts.clock.clearTimeout(timer);
    this.#onEnd();
  }

  #after(delayMs: number, action: () => void): void {
    const timer = this.#parts.clock.setTimeout(() => {
      this.#timers.delete(timer);
      action();
    }, delayMs);
    timer.unref?.();
    this.#timers.add(timer);
  }

  #every(intervalMs: number, action: () => void): void {
    this.#after(intervalMs, () => {
      action();
      if (!this.#ended) this.#every(intervalMs, action);
    });
  }
}

/**
 * Returns an event with its object in the version of the resource. @throws ApiError InternalError when the object
 * cannot be converted.
 */
function shownIn(resource: Resource, seen: Translated, mayWait: boolean): Translated | 'pending' {
  const entry = shownOrPending(resource, seen.entry, mayWait);
  return entry === 'pending' ? entry : { ...seen, entry };
}

/**
 * Returns the object in the version of the resource. If a webhook has to convert it first, returns `pending` if
 * `mayWait` is true, and otherwise throws PendingConversion.
 */
function shownOrPending(resource: Resource, entry: Entry, mayWait: boolean): Entry | 'pending' {
  try {
    return resource.show(entry);
  } catch (error) {
    if (mayWait && error instanceof PendingConversion) return 'pending';
    throw error;
  }
}

function joined(frames: readonly Buffer[]): Buffer {
  return frames.length === 1 ? inBounds(frames[0]) : Buffer.concat(frames);
}
