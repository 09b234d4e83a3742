import { actionBetween, formatKey, keyOf, writerOf, type ApiObject, type Logger } from '../../api/index.ts';
import type { HandlerRegistration, Informer, InformerHandler } from '../../client/informer.ts';
import type { Reason, ReasonType } from '../../queue/reason.ts';
import type { WorkQueue } from '../../queue/work-queue.ts';
import { originOf } from '../../telemetry/tracing.ts';
import { idOf, targetOf } from '../run/cache-view.ts';
import type { ControllerDefinition } from '../definition/controller-definition.ts';
import { followIdOf, type OwnedSource, type WatchSource } from '../definition/followed-kind.ts';
import { cacheIdOf, groupOf } from '../definition/kind-id.ts';
import type { Mappings } from './mappings.ts';
import type { OwnRevisions } from '../run/own-revisions.ts';
import type { QuietWrites } from '../run/quiet-writes.ts';
import { controllerOf } from '../definition/owner-references.ts';
import { isResync, judgeOwnEvent, type OwnEventVerdict } from './own-event-filter.ts';
import type { ObjectChange } from '../definition/predicates.ts';

/** The priority of initial objects and resyncs: below that of changes. */
const backgroundPriority = -100;

export interface EventSourceParts {
  readonly definition: ControllerDefinition;
  /** The informers by {@link followIdOf}: one for each selection of each kind that the controller follows. */
  readonly informers: ReadonlyMap<string, Informer<ApiObject>>;
  readonly queue: Pick<WorkQueue, 'add'>;
  readonly statusWrites: OwnRevisions;
  readonly finalizerWrites: OwnRevisions;
  readonly quietWrites: QuietWrites;
  /**
   * Called with the object of each event of a cache, after the event was handled. Mappings may enqueue keys for the
   * event even later.
   */
  readonly onObserved: (object: ApiObject) => void;
  readonly mappings: Pick<Mappings, 'add' | 'isIdle'>;
  readonly logger: Logger;
}

type Enqueue = (change: ObjectChange, priority: number) => void;

/** Enqueues keys, each with its reason, for the events of the kinds that a controller follows. */
export class EventSource {
  readonly #parts: EventSourceParts;
  readonly #registrations = new Map<ControllerDefinition | OwnedSource | WatchSource, HandlerRegistration>();

  constructor(parts: EventSourceParts) {
    this.#parts = parts;
  }

  /** Starts to deliver events, until `stop` is called. The existing objects are delivered first. */
  start(): void {
    const { definition, informers } = this.#parts;
    const resync = definition.resyncMs === Infinity ? {} : { resyncMs: definition.resyncMs };
    const own = informers.get(cacheIdOf(definition.model));
    const handler = this.#handler((change, priority) => this.#onOwn(change, priority));
    if (own !== undefined) this.#registrations.set(definition, own.addHandler(handler, resync));
    for (const source of [...definition.owns, ...definition.watches]) {
      const informer = informers.get(followIdOf(source));
      if (informer !== undefined) this.add(source, informer);
    }
  }

  /** Delivers the events of one more source. */
  add(source: OwnedSource | WatchSource, informer: Informer<ApiObject>): void {
    const handler = this.#handler(this.#quieted(source, this.#enqueuer(source)));
    this.#registrations.set(source, informer.addHandler(handler));
  }

  /**
   * Enqueues the keys of the existing objects of the controller's own kind for which `isWanted` is true. For a
   * Reconciler, it also enqueues the keys that the existing objects of owned and watched kinds lead to, because a
   * Reconciler is called for absent objects, too. Remove the returned registrations when they have synced.
   */
  replay(isWanted: (key: string) => boolean): readonly HandlerRegistration[] {
    const { definition, informers, queue } = this.#parts;
    const priority = backgroundPriority;
    const initialOf = (informer: Informer<ApiObject> | undefined, enqueue: Enqueue): HandlerRegistration[] => {
      const onAdd: InformerHandler<ApiObject>['onAdd'] = (object, { initial }) => {
        if (initial) enqueue({ type: 'ADDED', object }, priority);
      };
      return informer === undefined ? [] : [informer.addHandler({ onAdd })];
    };
    const own = initialOf(informers.get(cacheIdOf(definition.model)), (change) => {
      const key = formatKey(keyOf(change.object));
      if (isWanted(key)) queue.add(key, { priority, reason: ownReason(change, priority) });
    });
    if (typeof definition.reconcile === 'function') return own;
    const sources = [...definition.owns, ...definition.watches];
    return [...own, ...sources.flatMap((each) => initialOf(informers.get(followIdOf(each)), this.#enqueuer(each)))];
  }

  /** Stops the delivery of a source's events. */
  remove(source: OwnedSource | WatchSource): void {
    this.#registrations.get(source)?.remove();
    this.#registrations.delete(source);
    this.#parts.quietWrites.remove(source);
  }

  /** True while at least one owned or watched source receives the events of the cache with this id. */
  reads(followId: string): boolean {
    return [...this.#registrations.keys()].some((source) => 'follows' in source && followIdOf(source) === followId);
  }

  stop(): void {
    for (const registration of this.#registrations.values()) registration.remove();
    this.#registrations.clear();
  }

  /**
   * True when the handler of `source` has received every object of its initial list. If `source` is omitted, true when
   * the handlers of all sources have. Mappings of these objects may still be under way.
   */
  hasSynced(source?: OwnedSource | WatchSource): boolean {
    if (source !== undefined) return this.#registrations.get(source)?.hasSynced() === true;
    return [...this.#registrations.values()].every((registration) => registration.hasSynced());
  }

  /**
   * True when no event waits for its delivery, for a mapping, or for the decision whether it causes a run. Failed
   * mappings that wait for a retry do not count.
   */
  isIdle(): boolean {
    const { statusWrites, finalizerWrites, quietWrites, mappings } = this.#parts;
    const undecided = statusWrites.undecided + finalizerWrites.undecided + quietWrites.undecided;
    const registrations = [...this.#registrations.values()];
    return undecided === 0 && mappings.isIdle() && registrations.every((registration) => registration.isIdle());
  }

  #enqueuer(source: OwnedSource | WatchSource): Enqueue {
    return (change, priority) => {
      if (!this.#counts(source, change)) return;
      if (source.map === undefined) this.#onOwned(source, change, priority);
      else this.#onWatched(source, change, priority);
    };
  }

  /**
   * True when a change causes runs. Additions and deletions always do. When a predicate throws, the error is logged,
   * and the change causes runs.
   */
  #counts({ predicates }: OwnedSource | WatchSource, change: ObjectChange): boolean {
    if (change.previous === undefined || change.previous.metadata.uid !== change.object.metadata.uid) return true;
    try {
      return predicates.every((predicate) => predicate(change));
    } catch (error) {
      const { kind } = change.object;
      this.#parts.logger.error(
        { kind, key: formatKey(keyOf(change.object)), err: error },
        'a predicate failed; the change causes a run anyway',
      );
      return true;
    }
  }

  /**
   * Returns a function that ignores the updates that this controller itself wrote, if the source has `ignoreOwnWrites`.
   */
  #quieted(source: OwnedSource | WatchSource, enqueue: Enqueue): Enqueue {
    if (!source.ignoreOwnWrites) return enqueue;
    const ownWrites = this.#parts.quietWrites.add(source);
    return (change, priority) => {
      const { object } = change;
      const { resourceVersion } = object.metadata;
      const key = formatKey(keyOf(object));
      if (change.type !== 'MODIFIED') enqueue(change, priority);
      else ownWrites.decide(key, resourceVersion, () => enqueue(change, priority));
      ownWrites.observed(key, resourceVersion, change.type === 'DELETED');
    };
  }

  #handler(enqueue: Enqueue): InformerHandler<ApiObject> {
    const { onObserved } = this.#parts;
    const deliver = (change: ObjectChange, priority: number): void => {
      enqueue(change, priority);
      onObserved(change.object);
    };
    return {
      onAdd: (object, { initial }) => deliver({ type: 'ADDED', object }, initial ? backgroundPriority : 0),
      onUpdate: (previous, object) =>
        deliver({ type: 'MODIFIED', object, previous }, isResync(previous, object) ? backgroundPriority : 0),
      onDelete: (object) => deliver({ type: 'DELETED', object }, 0),
    };
  }

  #onOwn(change: ObjectChange, priority: number): void {
    const { queue, statusWrites, finalizerWrites } = this.#parts;
    const { object } = change;
    const { resourceVersion } = object.metadata;
    const id = idOf(targetOf(object));
    const reason = ownReason(change, priority);
    const run = (): void => queue.add(formatKey(keyOf(object)), { priority, reason });
    const verdict = this.#judge(change);
    if (verdict === 'run') run();
    else if (verdict === 'unlessOwnStatus') statusWrites.decide(id, resourceVersion, run);
    else if (verdict === 'unlessOwnFinalizers') finalizerWrites.decide(id, resourceVersion, run);
    statusWrites.observed(id, resourceVersion, change.type === 'DELETED');
    finalizerWrites.observed(id, resourceVersion, change.type === 'DELETED');
  }

  /**
   * Decides whether a change of the controller's own kind causes a run. When a predicate throws, the error is logged,
   * and the change causes a run: an extra run is harmless, but a missing run may do harm.
   */
  #judge(change: ObjectChange): OwnEventVerdict {
    const { definition, logger } = this.#parts;
    try {
      return judgeOwnEvent(change, definition.predicates);
    } catch (error) {
      logger.error(
        { key: formatKey(keyOf(change.object)), err: error },
        'a predicate failed; the object is reconciled anyway',
      );
      return 'run';
    }
  }

  /**
   * Enqueues the controller owner that the previous state of the object names, and the one that the new state names. A
   * controller owner is the owner in the owner reference with `controller: true`. An owner counts only if its kind and
   * group are those of the kind that this controller reconciles; the version does not matter.
   */
  #onOwned(source: OwnedSource, change: ObjectChange, priority: number): void {
    const { definition, queue } = this.#parts;
    const { model } = definition;
    const reason = reasonFor('owner', change, { priority, detail: namedBy(source, change) });
    const keys = new Set<string>();
    for (const object of statesOf(change)) {
      const owner = controllerOf(object);
      if (owner?.kind !== model.kind || groupOf(owner.apiVersion) !== model.group) continue;
      const { namespace } = object.metadata;
      const inNamespace = model.scope === 'Namespaced' && namespace !== undefined;
      keys.add(formatKey(inNamespace ? { namespace, name: owner.name } : { name: owner.name }));
    }
    // `keys` is a set, because a key that is added twice would be reconciled twice if its first run has already begun.
    for (const key of keys) queue.add(key, { priority, reason });
  }

  #onWatched(source: WatchSource, change: ObjectChange, priority: number): void {
    const reason = reasonFor('mapping', change, { priority, detail: namedBy(source, change) });
    this.#parts.mappings.add({ source, states: statesOf(change), priority, reason });
  }
}

function statesOf({ previous, object }: ObjectChange): readonly ApiObject[] {
  return previous === undefined ? [object] : [previous, object];
}

/**
 * Returns the reason of a change of the object itself: `manual` for a change of annotations that requests a run, or
 * pauses or resumes the object; `resync` for a resync; otherwise `event`.
 */
function ownReason(change: ObjectChange, priority: number): Reason {
  const { previous, object } = change;
  const action = previous === undefined ? undefined : actionBetween(previous, object);
  if (action === undefined) return reasonFor('event', change, { priority, detail: change.type });
  return reasonFor('manual', change, { priority, detail: action });
}

/**
 * Returns the kind and the name of the changed object, as a text that a run shows with its reason. The kind comes from
 * the source, because an object of which only the metadata is cached has the kind PartialObjectMetadata.
 */
function namedBy({ model: { kind } }: OwnedSource | WatchSource, { object }: ObjectChange): string {
  return `${kind} ${object.metadata.name}`;
}

function reasonFor(
  type: ReasonType,
  change: ObjectChange,
  { priority, detail }: { readonly priority: number; readonly detail: string },
): Reason {
  const { previous, object } = change;
  if (previous !== undefined && isResync(previous, object)) return { type: 'resync' };
  const reason = { type, detail };
  const traceparent = originOf(object);
  // A million keys may be queued at the start. To save memory, their reasons omit the revision and the field manager of
  // the object, which is in the cache.
  if (priority === backgroundPriority) return traceparent === undefined ? reason : { ...reason, traceparent };
  const { resourceVersion } = object.metadata;
  const manager = writerOf(object, previous);
  return {
    ...reason,
    resourceVersion,
    ...(traceparent === undefined ? {} : { traceparent }),
    ...(manager === undefined ? {} : { manager }),
  };
}
