import { ApiError } from '@homeostat/controller-runtime/api';
import type { Clock, Logger } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import type { Lister, Selection } from '../../registry/reads/lister.ts';
import type { Resource } from '../../registry/kinds/resource.ts';
import { afterwards } from '../../turns/steps.ts';
import { parseRevision } from '../../registry/history/revisions.ts';
import type { Revisions } from '../../registry/history/revisions.ts';
import { FlushCycle } from './flush-cycle.ts';
import type { RequestPermissions } from '../access/request-permissions.ts';
import { messageOf } from '../../protobuf/object-messages.ts';
import type { ResponseFormat } from '../request/accept.ts';
import { addressBlock } from '../request/address-block.ts';
import { callerOf, impersonatorOf } from '../request/request-state.ts';
import { readSelection } from '../request/list-options.ts';
import { booleanOf, choiceOf, firstOf, integerOf, refuse } from '../request/query.ts';
import type { QueryParameters } from '../request/query.ts';
import { readView } from '../request/accept.ts';
import type { ResourcePath } from '../request/resource-path.ts';
import type { TrustedProxies } from '../request/trusted-proxies.ts';
import { jsonLines, protobufEvents, serverSentEvents, viewedLines } from './watch-frames.ts';
import type { FrameFormat } from './watch-frames.ts';
import { WatchGroups } from './watch-group.ts';
import { WatchStream } from './watch-stream.ts';
import type { WatchStreamParts } from './watch-stream.ts';

export interface WatchHandlerParts {
  readonly lister: Lister;
  readonly revisions: Revisions;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a random number in [0, 1), so that watches for which the client sets no timeout end at different times. */
  readonly random: () => number;
  readonly bookmarkIntervalMs: number;
  /** The maximum number of watches. Further watches are refused (429). */
  readonly maxWatches: number;
  /** The maximum number of watches from one address. Further watches are refused (429). */
  readonly maxWatchesPerAddress: number;
  /** The maximum number of watches of one user. Further watches are refused (429). */
  readonly maxWatchesPerUser: number;
  readonly proxies: TrustedProxies;
  readonly permissions: RequestPermissions;
}

const options = 'ListOptions';

/** Starts the streams of `?watch=true`, and ends them when their kind is no longer served or the server stops. */
export class WatchHandler {
  readonly #parts: WatchHandlerParts;
  readonly #flushes: FlushCycle;
  readonly #groups: WatchGroups;
  readonly #streams = new Map<WatchStream, Resource>();
  /** The number of watches that are open or starting, for each {@link addressBlock} and for each user. */
  readonly #watchesOf = new Map<string, number>();
  #watches = 0;
  #isClosed = false;

  constructor(parts: WatchHandlerParts) {
    this.#parts = parts;
    this.#flushes = new FlushCycle(parts.clock);
    this.#groups = new WatchGroups(this.#flushes);
  }

  /** Starts a watch. Throws, or rejects, with an ApiError before the stream starts; later errors are sent as events. */
  handle(context: Context, path: ResourcePath, resource: Resource): Promise<void> | void {
    const from = readStart(context.query, context.get('Last-Event-ID'));
    // The watch is counted here, before it starts, so that it also counts while it collects initial objects and waits
    // for revisions.
    const address = addressBlock(this.#parts.proxies.addressOf(context));
    // The watch counts for the user who sent the request, so that a user cannot exceed the limit of watches by
    // impersonating others.
    const { username } = impersonatorOf(context) ?? callerOf(context);
    const onEnd = this.#takePlace([`address ${address}`, `user ${username}`]);
    try {
      const begun = this.#begin(context, { path, resource, from, onEnd });
      return begun instanceof Promise ? begun.catch((error: unknown) => endWith(error, onEnd)) : undefined;
    } catch (error) {
      return endWith(error, onEnd);
    }
  }

  #begin(context: Context, { path, resource, from, onEnd }: Asked): Promise<void> | void {
    // A watch that begins with the current objects, or at the current revision, may have to wait: with a
    // resourceVersion, until memory has this revision; without one, until memory has all writes acknowledged before the
    // request. Any other watch starts immediately, even if memory does not have its revision yet.
    const reached = from.initial || from.revision === 0 ? this.#parts.revisions.reach(from.resourceVersion) : undefined;
    const begin = (): Promise<void> | void => {
      const selection = this.#parts.lister.select(resource, readWatchSelection(context.query, path));
      const prepared = from.initial ? selection.prepare() : undefined;
      const planned = afterwards(prepared, () => this.#plan(context, { selection, resource, from }));
      return afterwards(planned, (start) => this.#start(context, start, onEnd));
    };
    return reached === undefined ? begin() : reached.then(begin);
  }

  #start(context: Context, start: WatchStreamParts, onEnd: () => void): void {
    if (this.#isClosed) {
      throw new ApiError('ServiceUnavailable', 'the server is shutting down', { retryAfterSeconds: 1 });
    }
    if (start.resource.isClosed) throw noLongerServed(start.resource);
    // The client has disconnected during the wait. The response has already emitted `close`, so a stream that starts
    // now would never end.
    if (context.res.closed) return onEnd();
    // The permission is checked before the stream begins, because it may have been withdrawn while the watch waited.
    let fail: (error: ApiError) => void = () => undefined;
    this.#parts.permissions.keepOpen(context, (error) => fail(error));
    context.respond = false;
    const stream: WatchStream = new WatchStream(start, () => {
      this.#streams.delete(stream);
      onEnd();
    });
    fail = (error) => stream.fail(error);
    this.#streams.set(stream, start.resource);
  }

  /** Counts a watch for its address and its user. The caller must call the returned function when the watch ends. */
  #takePlace(owners: readonly [address: string, user: string]): () => void {
    const { maxWatches, maxWatchesPerAddress, maxWatchesPerUser } = this.#parts;
    const [ofAddress, ofUser] = owners.map((owner) => this.#watchesOf.get(owner) ?? 0);
    if (this.#watches >= maxWatches) throw tooMany('');
    if (ofAddress !== undefined && ofAddress >= maxWatchesPerAddress) throw tooMany(' from one address');
    if (ofUser !== undefined && ofUser >= maxWatchesPerUser) throw tooMany(' of one user');
    this.#addWatch(owners, 1);
    let isCounted = true;
    return () => {
      if (isCounted) this.#addWatch(owners, -1);
      isCounted = false;
    };
  }

  #addWatch(owners: readonly string[], change: number): void {
    this.#watches += change;
    for (const owner of owners) {
      const count = (this.#watchesOf.get(owner) ?? 0) + change;
      if (count === 0) this.#watchesOf.delete(owner);
      else this.#watchesOf.set(owner, count);
    }
  }

  /**
   * Returns the number of open watches of each kind, in all versions together. Kinds without open watches are left out.
   */
  counts(): ReadonlyMap<Resource, number> {
    const counts = new Map<Resource, number>();
    for (const { storage } of this.#streams.values()) counts.set(storage, (counts.get(storage) ?? 0) + 1);
    return counts;
  }

  /** Ends the watches of a kind that is no longer served, with a 410, after which clients list again. */
  closeKind(resource: Resource): void {
    const gone = noLongerServed(resource);
    for (const [stream, watched] of this.#streams) if (watched.storage === resource) stream.fail(gone);
  }

  /** Ends all watches like {@link WatchStream.end}, and refuses new watches (503). */
  close(): void {
    this.#isClosed = true;
    for (const stream of this.#streams.keys()) stream.end();
  }

  #plan(
    context: Context,
    { selection, resource, from }: { selection: Selection; resource: Resource; from: WatchStart },
  ): WatchStreamParts | Promise<WatchStreamParts> {
    const { revisions, clock, logger, random, bookmarkIntervalMs } = this.#parts;
    const { query } = context;
    const format = readFormat(context, resource, clock);
    const bookmarks = booleanOf(query, 'allowWatchBookmarks', options) === true;
    const timeoutSeconds = integerOf(query, 'timeoutSeconds', 0) ?? 0;
    const plan = {
      response: context.res,
      resource,
      format,
      flushes: this.#flushes,
      groups: this.#groups,
      clock,
      selection,
      revision: from.initial || from.revision === 0 ? revisions.current : from.revision,
      markInitialEnd: bookmarks && from.markEnd,
      bookmarkIntervalMs: bookmarks ? bookmarkIntervalMs : undefined,
      timeoutMs: timeoutSeconds > 0 ? timeoutSeconds * 1000 : (30 + 30 * random()) * 60_000,
      currentRevision: () => revisions.current,
      onError: (err: unknown) => logger.error({ err, path: context.path }, 'watch failed'),
    };
    // Changes that happen while the initial objects are collected come from the feed.
    return afterwards(from.initial ? selection.collect() : [], (initial) => ({ initial, ...plan }));
  }
}

interface Asked {
  readonly onEnd: () => void;
  readonly path: ResourcePath;
  readonly resource: Resource;
  readonly from: WatchStart;
}

function endWith(error: unknown, onEnd: () => void): never {
  onEnd();
  throw error;
}

const watchFormats: readonly ResponseFormat[] = ['json', 'sse'];
/** The formats of watches of kinds that have a protobuf message. */
const typedWatchFormats: readonly ResponseFormat[] = [...watchFormats, 'protobuf'];

function readFormat(context: Context, { model }: Resource, clock: Clock): FrameFormat {
  const formats = messageOf(model) === undefined ? watchFormats : typedWatchFormats;
  const { format, view } = readView(context, { model, formats, isList: false, clock });
  if (view !== undefined) return viewedLines(view);
  if (format === 'protobuf') return protobufEvents;
  return format === 'sse' ? serverSentEvents : jsonLines;
}

function readWatchSelection(query: QueryParameters, path: ResourcePath): Parameters<Lister['select']>[1] {
  const { labelSelector, fieldSelector } = readSelection(query);
  // `/watch/<plural>/<name>` is the legacy way to watch one object.
  const named = path.name === undefined ? [] : [{ key: 'metadata.name', operator: 'in' as const, values: [path.name] }];
  return {
    labelSelector,
    fieldSelector: [...fieldSelector, ...named],
    sort: [{ field: 'metadata.creationTimestamp', direction: 'asc' }],
    ...(path.namespace === undefined ? {} : { namespace: path.namespace }),
  };
}

function tooMany(where: string): ApiError {
  return new ApiError('TooManyRequests', `too many watches${where}, please try again later`, { retryAfterSeconds: 1 });
}

function noLongerServed({ apiVersion, model }: Resource): ApiError {
  return new ApiError('Expired', `${apiVersion} ${model.kind} is no longer served`);
}

interface WatchStart {
  readonly initial: boolean;
  readonly markEnd: boolean;
  readonly revision: number;
  /**
   * The Last-Event-ID of the request, or else its parameter `resourceVersion`; undefined without both. A watch with
   * `initial`, or with a `revision` of 0, waits until memory has reached `resourceVersion`. Without a
   * `resourceVersion`, it waits until memory has all writes that any replica acknowledged before the request.
   */
  readonly resourceVersion: string | undefined;
}

/** Returns where the stream starts (objects-and-http "Watch"). */
function readStart(query: QueryParameters, lastEventId: string): WatchStart {
  if (firstOf(query, 'continue') !== undefined) {
    throw refuse(options, 'continue', {
      reason: 'FieldValueForbidden',
      message: 'Forbidden: continue is forbidden for watch',
    });
  }
  const match = choiceOf(query, { name: 'resourceVersionMatch', supported: ['Exact', 'NotOlderThan'], options });
  const send = booleanOf(query, 'sendInitialEvents', options);
  if (send !== undefined && match !== 'NotOlderThan') {
    const message = 'Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan';
    throw refuse(options, 'resourceVersionMatch', { reason: 'FieldValueForbidden', message });
  }
  if (send === undefined && match !== undefined) {
    const message = 'Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided';
    throw refuse(options, 'resourceVersionMatch', { reason: 'FieldValueForbidden', message });
  }
  const resourceVersion = lastEventId === '' ? firstOf(query, 'resourceVersion') : lastEventId;
  const revision = parseRevision(resourceVersion ?? '');
  const resumed = lastEventId !== '';
  return {
    initial: !resumed && (send ?? revision === 0),
    markEnd: !resumed && send === true,
    revision,
    resourceVersion,
  };
}
