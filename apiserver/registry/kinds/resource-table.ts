import { ApiError, apiVersionOf } from '@homeostat/controller-runtime/api';
import type { GroupVersionKind, Logger, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { EventEmitter } from 'eventemitter3';
import type { BrokenEntry } from '../../index/broken-entry.ts';
import { keyPrefixOf } from '../../store/object-key.ts';
import { cureOf } from '../object/broken-object.ts';
import { resourceName } from '../object/resource-errors.ts';
import { versionsOfKind } from './kind-versions.ts';
import { openResource, otherRulesOf, rulesOf } from './open-resource.ts';
import type { OpenParts } from './open-resource.ts';
import { notReady } from './resource.ts';
import type { Resource } from './resource.ts';
import type { Registration, SchemeManager } from './scheme-manager.ts';

interface Place {
  readonly namespace?: string | undefined;
}

const everywhere: Place = {};

interface TableEvents {
  /** Called when a kind begins to be served. */
  readonly opened: (resource: Resource) => void;
  /** Called when a kind is no longer served. */
  readonly closed: (resource: Resource) => void;
  /**
   * Called when an object of a served kind cannot be read before a webhook has converted it. The kind then has to be
   * closed and opened again, so that its objects are converted.
   */
  readonly unconverted: (resource: Resource) => void;
}

/** A registered kind. It is being indexed, or it is served, or its indexes could not be built. */
interface Slot {
  registration: Registration;
  readonly ready: Promise<Resource>;
  resource: Resource | undefined;
  indexed: number;
  hasFailed: boolean;
}

interface FoundSlot {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly slot: Slot;
}

export type ResourceTableParts = Omit<
  OpenParts,
  'onProgress' | 'onError' | 'onUnreadable' | 'onValidateBug' | 'onBroken' | 'onVarying'
> & {
  readonly schemes: SchemeManager;
  readonly logger: Logger;
};

/**
 * The served kinds. When a kind is registered with the {@link SchemeManager}, the table opens the kind. When the kind
 * is unregistered, the table closes it.
 */
export class ResourceTable extends EventEmitter<TableEvents> {
  readonly #parts: ResourceTableParts;
  readonly #slots = new Map<string, Slot>();
  /** The kind that was last looked up by its path; undefined once a kind has been registered or unregistered. */
  #last: FoundSlot | undefined;
  readonly #served = new Map<number, Resource>();
  /** The unregistered kinds that still have running work, by group and plural. */
  readonly #leaving = new Map<string, Promise<void>>();

  constructor(parts: ResourceTableParts) {
    super();
    this.#parts = parts;
    parts.schemes.on('registered', (registration) => this.#open(registration));
    parts.schemes.on('replaced', (registration) => this.#replace(registration));
    parts.schemes.on('unregistered', (registration) => this.#close(registration));
  }

  /**
   * Returns the kind at a path, in the path's version; undefined when no kind is registered there, or when clients may
   * not request this version. Throws ApiError ServiceUnavailable while the kind is being indexed, and when its objects
   * could not be indexed.
   */
  find(group: string, version: string, plural: string): Resource | undefined {
    const slot = this.#slotAt(group, version, plural);
    if (slot === undefined) return undefined;
    if (slot.resource === undefined) throw notServedYet(slot);
    const { resource: storage } = slot;
    const resource = storage.model.version === version ? storage : storage.inVersion(version);
    return resource?.model.served === false ? undefined : resource;
  }

  /**
   * Returns the number of objects of a kind: 0 while the kind is being indexed, undefined when there is no such kind.
   * With a namespace, only the objects in this namespace count.
   */
  sizeOf(group: string, version: string, plural: string, { namespace }: Place = everywhere): number | undefined {
    const slot = this.#slotAt(group, version, plural);
    if (slot === undefined) return undefined;
    const cache = slot.resource?.cache;
    return (namespace === undefined ? cache?.size : cache?.sizeIn(namespace)) ?? 0;
  }

  /**
   * Returns the registered kind at a path; undefined when there is none. The last result is cached, because most
   * requests need it more than once, and many requests are for the same kind as the request before.
   */
  #slotAt(group: string, version: string, plural: string): Slot | undefined {
    const last = this.#last;
    if (last?.plural === plural && last.group === group && last.version === version) return last.slot;
    const slot = this.#slots.get(slotKey(group, version, plural));
    this.#last = slot && { group, version, plural, slot };
    return slot;
  }

  /** Returns the registered kind; undefined when no kind with this name is registered. */
  #slotOf(gvk: GroupVersionKind): Slot | undefined {
    const registration = this.#parts.schemes.lookup(gvk);
    return registration && this.#slots.get(keyOf(registration.descriptor));
  }

  /** Returns a served kind in this version; undefined when the kind is not served. */
  get(gvk: GroupVersionKind): Resource | undefined {
    return this.#slotOf(gvk)?.resource?.inVersion(gvk.version);
  }

  /** Returns the error for requests for a kind whose objects could not be indexed; undefined for other kinds. */
  failureOf(gvk: GroupVersionKind): ApiError | undefined {
    const slot = this.#slotOf(gvk);
    return slot?.hasFailed === true ? notServedYet(slot) : undefined;
  }

  /**
   * Returns a function, for hot paths, which returns one kind. The function caches the resource, and looks the kind up
   * again only when the resource is closed, or when the kind was not served at the last call.
   */
  getterOf(gvk: GroupVersionKind): () => Resource | undefined {
    let known: Resource | undefined;
    return () => {
      if (known === undefined || known.isClosed) known = this.get(gvk);
      return known;
    };
  }

  /** Returns a function, for hot paths, which returns true while an object of one of these kinds is stored. */
  hasObjects(kinds: readonly GroupVersionKind[]): () => boolean {
    const getters = kinds.map((kind) => this.getterOf(kind));
    return () => {
      for (const get of getters) if ((get()?.cache.size ?? 0) > 0) return true;
      return false;
    };
  }

  /**
   * Resolves when a registered kind is served. Rejects with IndexBuildError when its indexes cannot be built, and with
   * another error when the kind is not registered, or is unregistered before it is served.
   */
  async whenReady(gvk: GroupVersionKind): Promise<Resource> {
    const slot = this.#slotOf(gvk);
    if (slot === undefined) throw new Error(`${apiVersionOf(gvk)} ${gvk.kind} is not registered`);
    const resource = await slot.ready;
    return resource.inVersion(gvk.version) ?? resource;
  }

  /** Returns the number of objects that are already indexed while a kind is being indexed; undefined otherwise. */
  progress(model: ModelDescriptor): number | undefined {
    const slot = this.#slots.get(keyOf(model));
    return slot === undefined || slot.resource !== undefined ? undefined : slot.indexed;
  }

  /** Returns all served kinds, each in its storage version. */
  served(): readonly Resource[] {
    return [...this.#served.values()];
  }

  /** Returns the models of all served versions of all kinds. */
  models(): readonly ModelDescriptor[] {
    return this.served().flatMap((resource) => resource.served().map(({ model }) => model));
  }

  /** Returns the served kind that has this number in the store. */
  ofNumber(kind: number): Resource | undefined {
    return this.#served.get(kind);
  }

  #open(registration: Registration): void {
    const { descriptor } = registration;
    const ready = this.#build(registration, () => slot);
    const slot: Slot = { registration, resource: undefined, indexed: 0, hasFailed: false, ready };
    for (const version of versionsOfKind(descriptor)) this.#slots.set(keyOf(version), slot);
    this.#last = undefined;
    // The caller of `register` may await this promise later. Until then, a rejection must not end the process.
    ready.catch(() => (slot.hasFailed = true));
  }

  async #build(registration: Registration, slotOf: () => Slot): Promise<Resource> {
    const { logger } = this.#parts;
    const { owner } = registration;
    const { kind, group } = registration.descriptor;
    // If the kind was registered before, writes of that registration may still run, and a read would miss them. So the
    // objects are read only after these writes have ended.
    const left = this.#leaving.get(stemOf(registration.descriptor));
    if (left !== undefined) await left;
    const parts = {
      ...this.#parts,
      onError: (err: unknown) => logger.error({ err, kind, group }, 'a listener to changes failed'),
      onUnreadable: (err: unknown) =>
        logger.warn({ err, kind, group, owner }, 'a stored object cannot be shown in another version'),
      onValidateBug: this.#validateBugLog(registration),
      onBroken: (entry: BrokenEntry) => {
        const { problem } = entry;
        logger.error(
          { key: keyPrefixOf(registration.descriptor) + entry.key, kind, group, owner, problem },
          `a stored object cannot be read, and is left out of lists; ${cureOf(entry)}`,
        );
      },
      onVarying: (indexes: readonly string[]) =>
        logger.error(
          { kind, group, owner, indexes },
          'an index does not return the same values for the same object; queries by it may miss objects',
        ),
      onProgress: (indexed: number) => {
        const slot = this.#checkPresent(slotOf());
        slot.indexed = indexed;
        logger.debug({ kind, group, indexed }, 'indexing');
      },
    };
    return openResource(registration, parts, (resource) => {
      this.#checkPresent(slotOf()).resource = resource;
      this.#served.set(resource.kindNumber, resource);
      this.emit('opened', resource);
    });
  }

  #replace(registration: Registration): void {
    const { descriptor, origin } = registration;
    const slot = this.#slots.get(keyOf(descriptor));
    if (slot === undefined) throw notReady(descriptor);
    if (slot.resource === undefined) throw notServedYet(slot);
    const parts = { ...this.#parts, origin, onValidateBug: this.#validateBugLog(registration) };
    slot.resource.replaceRules(rulesOf(descriptor, parts), otherRulesOf(descriptor, parts));
    slot.registration = registration;
  }

  #validateBugLog({ descriptor, owner }: Registration): (err: unknown) => void {
    const { kind, group } = descriptor;
    return (err) => this.#parts.logger.warn({ err, kind, group, owner }, 'the validate function of a model failed');
  }

  #checkPresent(slot: Slot): Slot {
    const { descriptor } = slot.registration;
    if (this.#slots.get(keyOf(descriptor)) === slot) return slot;
    throw new Error(`${descriptor.kind} was unregistered while it was being indexed`);
  }

  #close({ descriptor }: Registration): void {
    const slot = this.#slots.get(keyOf(descriptor));
    for (const version of versionsOfKind(descriptor)) this.#slots.delete(keyOf(version));
    this.#last = undefined;
    if (slot === undefined) return;
    void this.#await(stemOf(descriptor), leave(slot));
    if (slot.resource === undefined) return;
    this.#served.delete(slot.resource.kindNumber);
    this.emit('closed', slot.resource);
  }

  /** Keeps an unregistered kind in the list of kinds with running work until `left` resolves. */
  async #await(stem: string, left: Promise<void>): Promise<void> {
    this.#leaving.set(stem, left);
    await left;
    if (this.#leaving.get(stem) === left) this.#leaving.delete(stem);
  }
}

/** Returns the 503 for a kind that is being indexed, or whose objects could not be indexed. */
function notServedYet({ registration, hasFailed }: Slot): ApiError {
  const { descriptor } = registration;
  if (!hasFailed) return notReady(descriptor);
  const message = `${resourceName(descriptor)} is not served, because its objects could not be indexed`;
  return new ApiError('ServiceUnavailable', message, { retryAfterSeconds: 1 });
}

/**
 * Closes an unregistered kind to writes. Resolves when the indexing of its objects has ended, and all earlier writes
 * have ended.
 */
async function leave({ ready, resource }: Slot): Promise<void> {
  const written = resource?.close();
  await ready.catch(() => undefined);
  await written;
}

/** Returns the name that all versions of a kind share, because their objects in the store are the same. */
function stemOf({ group, plural }: ModelDescriptor): string {
  return `${group}/${plural}`;
}

function keyOf({ group, version, plural }: ModelDescriptor): string {
  return slotKey(group, version, plural);
}

function slotKey(group: string, version: string, plural: string): string {
  return `${group}/${version}/${plural}`;
}
