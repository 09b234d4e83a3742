import { apiVersionOf } from '@homeostat/controller-runtime/api';
import type { GroupVersionKind, Logger, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { EventEmitter } from 'eventemitter3';
import { openResource } from './open-resource.ts';
import type { OpenParts } from './open-resource.ts';
import { notReady } from './resource.ts';
import type { Resource } from './resource.ts';
import type { Registration, SchemeManager } from './scheme-manager.ts';

interface TableEvents {
  /** A kind is served from now on. */
  readonly opened: (resource: Resource) => void;
  /** A kind is no longer served. */
  readonly closed: (resource: Resource) => void;
}

/** A kind on its way: being indexed, or served. */
interface Slot {
  readonly registration: Registration;
  readonly ready: Promise<Resource>;
  resource: Resource | undefined;
  indexed: number;
}

export type ResourceTableOptions = Omit<OpenParts, 'onProgress' | 'onError'> & {
  readonly schemes: SchemeManager;
  readonly logger: Logger;
};

/** The kinds that are served. Follows the scheme manager: a registration opens a kind, its end closes it. */
export class ResourceTable extends EventEmitter<TableEvents> {
  readonly #options: ResourceTableOptions;
  readonly #slots = new Map<string, Slot>();

  constructor(options: ResourceTableOptions) {
    super();
    this.#options = options;
    options.schemes.on('registered', (registration) => this.#open(registration));
    options.schemes.on('unregistered', (registration) => this.#close(registration));
  }

  /** The kind at a path; undefined when none is registered, ServiceUnavailable while it is being indexed. */
  find(group: string, version: string, plural: string): Resource | undefined {
    const slot = this.#slots.get(slotKey(group, version, plural));
    if (slot === undefined) return undefined;
    if (slot.resource === undefined) throw notReady(slot.registration.descriptor);
    return slot.resource;
  }

  /** A kind that is served now. */
  get(gvk: GroupVersionKind): Resource | undefined {
    const registration = this.#options.schemes.lookup(gvk);
    return registration === undefined ? undefined : this.#slots.get(keyOf(registration.descriptor))?.resource;
  }

  /** Resolves when a registered kind is served. Rejects with IndexBuildError, or when it is not registered (any more). */
  async whenReady(gvk: GroupVersionKind): Promise<Resource> {
    const registration = this.#options.schemes.lookup(gvk);
    const slot = registration === undefined ? undefined : this.#slots.get(keyOf(registration.descriptor));
    if (slot === undefined) throw new Error(`${apiVersionOf(gvk)} ${gvk.kind} is not registered`);
    return slot.ready;
  }

  /** How many objects of a kind that is being indexed are done; undefined when it is not being indexed. */
  progress(model: ModelDescriptor): number | undefined {
    const slot = this.#slots.get(keyOf(model));
    return slot === undefined || slot.resource !== undefined ? undefined : slot.indexed;
  }

  /** All kinds that are served now. */
  served(): readonly Resource[] {
    return [...this.#slots.values()].flatMap(({ resource }) => (resource === undefined ? [] : [resource]));
  }

  #open(registration: Registration): void {
    const { descriptor } = registration;
    this.#refuseSecondVersion(descriptor);
    const slot: Slot = { registration, resource: undefined, indexed: 0, ready: this.#build(registration, () => slot) };
    this.#slots.set(keyOf(descriptor), slot);
    // Whoever registered awaits it; a rejection that nobody awaits yet must not end the process.
    slot.ready.catch(() => undefined);
  }

  async #build(registration: Registration, slotOf: () => Slot): Promise<Resource> {
    const { logger } = this.#options;
    const { kind, group } = registration.descriptor;
    const resource = await openResource(registration, {
      ...this.#options,
      onError: (err) => logger.error({ err, kind, group }, 'a listener to changes failed'),
      onProgress: (indexed) => {
        slotOf().indexed = indexed;
        logger.debug({ kind, group, indexed }, 'indexing');
      },
    });
    const slot = slotOf();
    if (this.#slots.get(keyOf(registration.descriptor)) !== slot)
      throw new Error(`${kind} was unregistered while it was being indexed`);
    slot.resource = resource;
    this.emit('opened', resource);
    return resource;
  }

  #close({ descriptor }: Registration): void {
    const slot = this.#slots.get(keyOf(descriptor));
    this.#slots.delete(keyOf(descriptor));
    if (slot?.resource !== undefined) this.emit('closed', slot.resource);
  }

  /** One stored object has one served version until models can be converted between versions. */
  #refuseSecondVersion(model: ModelDescriptor): void {
    for (const { registration } of this.#slots.values()) {
      const other = registration.descriptor;
      if (other.group !== model.group || other.plural !== model.plural) continue;
      throw new Error(
        `${model.kind}: version ${other.version} of ${other.plural}.${other.group} is served already, and one kind has one version`,
      );
    }
  }
}

function keyOf({ group, version, plural }: ModelDescriptor): string {
  return slotKey(group, version, plural);
}

function slotKey(group: string, version: string, plural: string): string {
  return `${group}/${version}/${plural}`;
}
