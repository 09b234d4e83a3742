import { deepEqual, isConflict, isNotFound, keyOf } from '@homeostat/controller-runtime/api';
import type { Clock, Logger } from '@homeostat/controller-runtime/api';
import { WorkLoop } from '../controllers/work-loop.ts';
import type { Entry } from '../index/entry.ts';
import { deleteEntries } from '../registry/delete-entries.ts';
import { decodeObject } from '../registry/object/object-codec.ts';
import type { Registry } from '../registry/registry.ts';
import type { WriteOptions } from '../registry/writes/write-options.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import type { Resource } from '../registry/kinds/resource.ts';
import type { SchemeManager } from '../registry/kinds/scheme-manager.ts';
import type { StoredKind } from '../store/object-key.ts';
import { formatTime } from '../registry/object/object-codec.ts';
import { nextTurn } from '../turns/next-turn.ts';
import { cleanupFinalizer, isServed } from './definition.ts';
import type { CustomResourceDefinition, DefinitionStatus } from './definition.ts';
import { definitionModel } from './definition-model.ts';
import type { ConvertTo } from './model-of-definition.ts';
import { statusOf, terminatingStatus } from './definition-status.ts';
import { definitionOfOwner, ServedDefinitions } from './served-definitions.ts';

export interface DefinitionControllerParts {
  readonly schemes: SchemeManager;
  readonly table: ResourceTable;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * Returns the conversion of a definition with a conversion webhook; undefined for any other definition. Default: no
   * definition is converted by a webhook.
   */
  readonly converterOf?: (definition: CustomResourceDefinition) => ConvertTo | undefined;
}

const asService = { writer: 'service', fieldManager: 'homeostat', isOwnUpkeep: true } as const;

/** The number of objects that are deleted at the same time. */
const deletedAtOnce = 100;

/**
 * Serves the kinds of CustomResourceDefinitions, sets the status of the definitions, and deletes the objects of a
 * definition that is being deleted. Each server on a database does this, and all servers write the same values.
 */
export class DefinitionController {
  readonly #parts: DefinitionControllerParts;
  readonly #served: ServedDefinitions;
  readonly #queue: WorkLoop<string>;
  /** The names of the definitions that wait for a name, such as a plural, that another kind still has. */
  readonly #conflicting = new Set<string>();
  /** The names of the definitions whose kinds must be closed and opened again, so that their objects are converted. */
  readonly #rereading = new Set<string>();
  /** The reasons why kinds wait for the conversion of their objects, by the definition's name. */
  readonly #unconverted = new Map<string, string>();
  /** Maps the name of each definition that is being deleted to a function that unsubscribes from its kind's changes. */
  readonly #leaving = new Map<string, () => void>();
  readonly #unsubscribe: (() => void)[] = [];
  #definitions: Resource | undefined;
  #started = false;

  constructor(parts: DefinitionControllerParts) {
    this.#parts = parts;
    this.#served = new ServedDefinitions(parts);
    this.#queue = new WorkLoop({
      clock: parts.clock,
      idOf: (name) => name,
      handle: async (name) => this.#handle(name),
      onFailure: (name, err) =>
        parts.logger.error({ err, name }, 'a CustomResourceDefinition could not be processed; trying again later'),
    });
  }

  /** Serves the stored definitions that are Established and are not being deleted. Writes no object. */
  async open(): Promise<void> {
    const { schemes, table } = this.#parts;
    schemes.register(definitionModel);
    this.#definitions = await table.whenReady(definitionModel);
    for (const { bytes } of this.#definitions.cache.entries()) {
      const definition = decodeObject<CustomResourceDefinition>(bytes);
      if (isEstablished(definition)) await this.#served.serve(definition);
      await nextTurn('background');
    }
  }

  /** Starts to follow the definitions. */
  start(): void {
    const { schemes, table } = this.#parts;
    this.#started = true;
    const { feed } = this.#opened();
    this.#unsubscribe.push(feed.subscribe(({ entry }) => this.#enqueue(entry.key)));
    // After a definition is deleted, its names are free, so the definitions that wait for a name are tried again.
    this.#unsubscribe.push(schemes.on('unregistered', () => this.#conflicting.forEach((name) => this.#enqueue(name))));
    table.on('unconverted', this.#onUnconverted);
    this.#unsubscribe.push(() => table.off('unconverted', this.#onUnconverted));
    for (const { key } of this.#opened().cache.entries()) this.#enqueue(key);
  }

  readonly #onUnconverted = ({ owner }: Resource): void => {
    const name = definitionOfOwner(owner);
    if (name === undefined) return;
    this.#rereading.add(name);
    this.#enqueue(name);
  };

  isIdle(): boolean {
    return this.#queue.isIdle();
  }

  /**
   * Returns the reason why the definition of a formerly served kind does not serve it at the moment. Returns undefined
   * when there is no definition, or when the definition is being deleted or has no served version.
   */
  awaited({ group, plural }: StoredKind): string | undefined {
    const name = `${plural}.${group}`;
    if (this.#definitions?.cache.broken.has(name) === true)
      return `CustomResourceDefinition "${name}" cannot be read; replace it by PUT, or delete it`;
    const unconverted = this.#unconverted.get(name);
    if (unconverted !== undefined)
      return `the objects of CustomResourceDefinition "${name}" cannot be converted yet: ${unconverted}`;
    const entry = this.#definitions?.cache.get(name);
    if (entry === undefined || entry.deletion !== undefined) return undefined;
    const { spec, status } = decodeObject<CustomResourceDefinition>(entry.bytes);
    if (!isServed(spec)) return undefined;
    const established = status?.conditions?.find(({ type }) => type === 'Established');
    return `CustomResourceDefinition "${name}" is not Established: ${established?.message ?? 'it has not been checked yet'}`;
  }

  async stop(): Promise<void> {
    for (const unsubscribe of [...this.#unsubscribe, ...this.#leaving.values()]) unsubscribe();
    await this.#queue.stop();
  }

  #opened(): Resource {
    if (this.#definitions === undefined) throw new Error('CustomResourceDefinitions are not served yet');
    return this.#definitions;
  }

  #enqueue(name: string): void {
    if (this.#started) this.#queue.add(name);
  }

  async #handle(name: string): Promise<void> {
    try {
      await this.#reconcile(name);
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error;
      this.#queue.add(name);
    }
  }

  async #reconcile(name: string): Promise<void> {
    const entry = this.#opened().cache.get(name);
    if (entry === undefined) return this.#forget(name);
    // Each definition is handled in a separate turn, so that several definitions do not block the event loop together.
    await nextTurn('background');
    const definition = decodeObject<CustomResourceDefinition>(entry.bytes);
    if (definition.metadata.deletionTimestamp !== undefined) return this.#retire(definition);
    const { finalizers = [] } = definition.metadata;
    // The feed reports this write, so the definition is handled again.
    if (!finalizers.includes(cleanupFinalizer))
      return this.#setFinalizers(definition, [...finalizers, cleanupFinalizer]);
    if (this.#rereading.delete(name)) this.#served.withdraw(name);
    const outcome = await this.#served.serve(definition);
    if (this.#queue.isStopped) return;
    this.#unconverted.delete(name);
    if (outcome.kind === 'unconverted') {
      this.#unconverted.set(name, outcome.message);
      // Other replicas may serve the kind, so the definition's status remains, and this replica tries again later.
      throw new Error(outcome.message);
    }
    if (outcome.kind === 'conflict') this.#conflicting.add(name);
    else this.#conflicting.delete(name);
    await this.#setStatus(definition, statusOf(definition, outcome, this.#now()));
  }

  #forget(name: string): void {
    this.#leaving.get(name)?.();
    this.#leaving.delete(name);
    this.#conflicting.delete(name);
    this.#rereading.delete(name);
    this.#unconverted.delete(name);
    this.#served.withdraw(name);
  }

  /**
   * Deletes the objects of a definition that is marked for deletion. When no object is left, stops serving the kind,
   * and removes the definition's finalizer. Runs again when the last object is removed, and when the memory of this
   * process receives an object that a replica created before the mark. After the mark, no replica can create an object
   * of the kind: a creation requires the definition's claim under `liveIndex`, and the commit of the mark releases this
   * claim. So no object is missed.
   */
  async #retire(definition: CustomResourceDefinition): Promise<void> {
    const { name, finalizers = [] } = definition.metadata;
    if (!finalizers.includes(cleanupFinalizer)) return;
    const resource = await this.#served.openForCleanup(definition);
    if (resource !== undefined) {
      await this.#setStatus(definition, terminatingStatus(definition, this.#now()));
      this.#followLeaving(name, resource);
      await this.#deleteAll(resource);
      if (hasObjects(resource)) return;
    }
    this.#forget(name);
    const current = this.#opened().cache.get(name);
    if (current === undefined) return;
    const last = decodeObject<CustomResourceDefinition>(current.bytes);
    await this.#setFinalizers(
      last,
      (last.metadata.finalizers ?? []).filter((each) => each !== cleanupFinalizer),
    );
  }

  #followLeaving(name: string, resource: Resource): void {
    if (this.#leaving.has(name)) return;
    this.#leaving.set(
      name,
      resource.feed.subscribe(({ type }) => {
        if (type === 'ADDED' || (type === 'DELETED' && !hasObjects(resource))) this.#enqueue(name);
      }),
    );
  }

  async #deleteAll(resource: Resource): Promise<void> {
    await deleteEntries(
      this.#parts.registry,
      { resource, entries: objectsOf(resource), isWanted: ({ deletion }) => deletion === undefined },
      { atOnce: deletedAtOnce, optionsOf, isStopped: () => this.#queue.isStopped },
    );
  }

  async #setFinalizers({ metadata }: CustomResourceDefinition, finalizers: readonly string[]): Promise<void> {
    const { name, resourceVersion } = metadata;
    const patch = { metadata: { resourceVersion, finalizers } };
    await this.#parts.registry.patch(this.#opened(), { name }, { type: 'merge', patch }, asService);
  }

  /** Writes the status, unless it is unchanged, as it is for most definitions after a restart. */
  async #setStatus(definition: CustomResourceDefinition, status: DefinitionStatus): Promise<void> {
    if (deepEqual(definition.status, status)) return;
    const { apiVersion, kind, metadata } = definition;
    // The rest of the object is left out, because a status write ignores it.
    await this.#parts.registry.update(
      this.#opened(),
      keyOf(definition),
      () => ({ apiVersion, kind, metadata: { ...metadata }, status: structuredClone(status) }),
      { ...asService, subresource: 'status' },
    );
  }

  #now(): string {
    return formatTime(this.#parts.clock.now());
  }
}

/** Yields the entries of a kind as they are now, and then those of the objects that cannot be read. */
function* objectsOf({ cache }: Resource): Generator<Entry, void, undefined> {
  yield* cache.places();
  yield* cache.broken.values();
}

function hasObjects({ cache }: Resource): boolean {
  return cache.size + cache.broken.size > 0;
}

/** Returns options that restrict a write to this object, so that a new object of the same name is not changed. */
function optionsOf({ uid }: Entry): WriteOptions {
  return uid === undefined ? asService : { ...asService, preconditions: { uid } };
}

function isEstablished({ metadata, status }: CustomResourceDefinition): boolean {
  const wasServed = status?.conditions?.some(({ type, status: value }) => type === 'Established' && value === 'True');
  return wasServed === true && metadata.deletionTimestamp === undefined;
}
