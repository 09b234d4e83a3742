import { createBackedInformer, createListWatchBacking, ensureObject, freezeDeep } from '@homeostat/controller-runtime';
import type {
  AppliedObject,
  ApplyOptions,
  Client,
  DeleteOptions,
  Desired,
  GetOptions,
  Informer,
  InformerOptions,
  ListOptions,
  NamespaceOptions,
  Patch,
  PatchOptions,
  StatusOf,
  WatchOptions,
  WriteOptions,
} from '@homeostat/controller-runtime';
import { ApiError, apiVersionOf, descriptorOf, keyOf, parseFieldSelector } from '@homeostat/controller-runtime/api';
import type {
  ApiObject,
  Clock,
  FieldCause,
  GroupVersionKind,
  Logger,
  Model,
  ModelDescriptor,
  NewObject,
  ObjectKey,
  ObjectList,
  WatchEvent,
} from '@homeostat/controller-runtime/api';
import { largeBody } from '../decode/body-codec.ts';
import type { BodySource } from '../decode/body-codec.ts';
import { objectLimits } from '../limits/body-limits.ts';
import { copyAsJsonObject, measuredCopy } from '../decode/json-copy.ts';
import { checkFieldManager, requireFieldManager } from '../registry/rules/check-field-manager.ts';
import type { Writer } from '../registry/object/label-keys.ts';
import type { Lister } from '../registry/reads/lister.ts';
import { readPropagationPolicy } from '../registry/rules/propagation-policy.ts';
import type { Registry } from '../registry/registry.ts';
import type {
  ApplyOptions as RegistryApplyOptions,
  WriteOptions as RegistryWriteOptions,
} from '../registry/writes/write-options.ts';
import { isHidden } from '../registry/writes/write-result.ts';
import type { WriteResult } from '../registry/writes/write-result.ts';
import type { Resource } from '../registry/kinds/resource.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import type { Revisions } from '../registry/history/revisions.ts';
import type { StoredKind } from '../store/object-key.ts';
import { attributesOf } from './client-guard.ts';
import type { UserInfo } from '../identity/user-info.ts';
import type { ClientGuard, GuardedCall } from './client-guard.ts';
import { listRequest } from './list-request.ts';
import { LocalBacking } from './local-backing.ts';
import { LocalWatch } from './local-watch.ts';
import type { ObjectReader } from './object-reader.ts';
import { ServedBacking } from './served-backing.ts';

export interface LocalClientParts {
  readonly registry: Registry;
  readonly lister: Lister;
  readonly table: ResourceTable;
  /** Returns the error (503) for a kind that was served and will be served again; undefined for any other kind. */
  readonly absent: { refusalOf(kind: StoredKind): ApiError | undefined };
  readonly revisions: Revisions;
  readonly reader: ObjectReader;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a number from 0 to below 1, which varies the delays of informers. */
  readonly random: () => number;
  /** The kind of writer that the client is. Default `service`. */
  readonly writer?: Writer;
  /** The field manager (metadata.managedFields) of calls that name none. Default `homeostat`. */
  readonly fieldManager?: string;
  /** Decides whether each call is allowed. Default: all calls are. */
  readonly guard?: ClientGuard | undefined;
  /** The author that is shown for the client's writes. Default: the `user` of `guard`; without a guard, the server. */
  readonly author?: UserInfo | undefined;
}

/** The result of an apply: the object, and the fields that other managers kept. */
export interface UncontestedApply<T extends ApiObject> {
  readonly object: T;
  readonly contested: readonly FieldCause[];
}

/** The client of a plugin in the server's process. */
export interface PluginClient extends Client {
  /**
   * Applies an object without changing fields of other managers. Fields in conflict keep their values, and are returned
   * as causes, at most a hundred. Creates the object when it is absent.
   */
  applyUncontested<T extends ApiObject>(
    model: Model<T>,
    object: AppliedObject<T>,
    options: ApplyOptions,
  ): Promise<UncontestedApply<T>>;
}

/** The client for code in the server's process: it calls the registry directly, and shares the server's cache. */
export class LocalClient implements PluginClient {
  readonly #parts: LocalClientParts;

  constructor(parts: LocalClientParts) {
    this.#parts = parts;
  }

  /**
   * Returns a client that writes as another kind of writer and under another field manager. `user` can replace the
   * guard, which decides whether a call is allowed, and the user that is shown as the author of writes.
   */
  as(writer: Writer, fieldManager: string, user: Pick<LocalClientParts, 'guard' | 'author'> = {}): LocalClient {
    return new LocalClient({ ...this.#parts, writer, fieldManager, ...user });
  }

  async get<T extends ApiObject>(model: Model<T>, name: string, options: GetOptions = {}): Promise<T> {
    this.#check(model, { verb: 'get', name, namespace: options.namespace });
    // `await` is left out when it is not needed. It takes a turn of the microtask queue, which costs as much as the
    // rest of a read.
    const found = this.#resource(model);
    const resource = found instanceof Promise ? await found : found;
    const shown = this.#parts.registry.get(resource, keyFor(name, options), options.resourceVersion);
    return this.#parts.reader.read(shown instanceof Promise ? await shown : shown);
  }

  async list<T extends ApiObject>(model: Model<T>, options: ListOptions = {}): Promise<ObjectList<T>> {
    const request = listRequest(options);
    if (this.#parts.guard !== undefined) this.#check(model, { verb: 'list', ...selected(options) });
    const found = this.#resource(model);
    const page = await this.#parts.lister.list(found instanceof Promise ? await found : found, request);
    return Object.assign(page.envelope(), { items: page.entries.map((entry) => this.#parts.reader.read<T>(entry)) });
  }

  async create<T extends ApiObject>(model: Model<T>, object: NewObject<T>, options: WriteOptions = {}): Promise<T> {
    const namespace = options.namespace ?? object.metadata.namespace;
    this.#check(model, { verb: 'create', name: object.metadata.name, namespace });
    const resource = await this.#resource(model);
    const body = bodyOf({
      ...object,
      apiVersion: object.apiVersion ?? resource.apiVersion,
      kind: object.kind ?? resource.model.kind,
    });
    const written = this.#written(options);
    return this.#answer(
      await this.#parts.registry.create(resource, body, namespace === undefined ? written : { ...written, namespace }),
    );
  }

  async update<T extends ApiObject>(object: T, options: WriteOptions = {}): Promise<T> {
    const resource = await this.#resourceOf(object);
    this.#check(resource.model, { verb: 'update', ...keyOf(object) });
    return this.#answer(
      await this.#parts.registry.update(resource, keyOf(object), bodyOf(object), this.#written(options)),
    );
  }

  async updateStatus<T extends ApiObject>(object: T, status: StatusOf<T>, options: WriteOptions = {}): Promise<T> {
    const resource = await this.#resourceOf(object);
    this.#check(resource.model, { verb: 'update', ...keyOf(object), subresource: 'status' });
    const body = bodyOf({ ...object, status });
    return this.#answer(
      await this.#parts.registry.update(resource, keyOf(object), body, {
        ...this.#written(options),
        subresource: 'status',
      }),
    );
  }

  async patch<T extends ApiObject>(
    model: Model<T>,
    name: string,
    patch: Patch,
    options: PatchOptions = {},
  ): Promise<T> {
    this.#check(model, { verb: 'patch', name, namespace: options.namespace, subresource: options.subresource });
    const resource = await this.#resource(model);
    const change = bodyOf(patch.type === 'json' ? patch.operations : patch.patch);
    const isLarge = change.isLarge === true;
    const body =
      patch.type === 'json'
        ? ({ type: 'json', operations: change(), isLarge } as const)
        : ({ type: 'merge', patch: change(), isLarge } as const);
    return this.#answer(
      await this.#parts.registry.patch(resource, keyFor(name, options), body, this.#written(options)),
    );
  }

  async apply<T extends ApiObject>(model: Model<T>, object: AppliedObject<T>, options: ApplyOptions): Promise<T> {
    return this.#apply(model, object, options);
  }

  async applyUncontested<T extends ApiObject>(
    model: Model<T>,
    object: AppliedObject<T>,
    options: ApplyOptions,
  ): Promise<UncontestedApply<T>> {
    let contested: readonly FieldCause[] = [];
    const onContested = (causes: readonly FieldCause[]): void => void (contested = causes);
    const applied = await this.#apply(model, object, { ...options, onContested });
    return { object: applied, contested };
  }

  async delete<T extends ApiObject>(
    model: Model<T>,
    name: string,
    options: DeleteOptions = {},
  ): Promise<T | undefined> {
    this.#check(model, { verb: 'delete', name, namespace: options.namespace });
    const resource = await this.#resource(model);
    readPropagationPolicy(options.propagationPolicy, undefined);
    const written = await this.#parts.registry.delete(resource, keyFor(name, options), this.#written(options));
    return isHidden(written) ? undefined : this.#answer(written);
  }

  ensure<T extends ApiObject>(
    model: Model<T>,
    key: string | ObjectKey,
    desired: Desired<T>,
    options: WriteOptions = {},
  ): Promise<T> {
    return ensureObject(this, model, { key, desired, options });
  }

  watch<T extends ApiObject>(model: Model<T>, options: WatchOptions = {}): AsyncIterable<WatchEvent<T>> {
    const { lister, table, revisions, reader } = this.#parts;
    const check = (): void => this.#check(model, { verb: 'watch', ...selected(options) });
    const resource = async (): Promise<Resource> => this.#resource(model);
    const parts = { resource, lister, table, revisions, reader, check, onChange: this.#onChange };
    return new LocalWatch<T>(parts, options);
  }

  informer<T extends ApiObject>(model: Model<T>, options: InformerOptions<T> = {}): Informer<T> {
    const { clock, logger, random, ...parts } = this.#parts;
    const check = (): void => {
      for (const namespace of options.namespaces ?? [undefined]) {
        for (const verb of ['list', 'watch']) this.#check(model, { verb, ...selected(options), namespace });
      }
    };
    check();
    const permission = { check, onChange: this.#onChange };
    const followed = { ...parts, ...permission, logger, model: descriptorOf(model), selection: options };
    const listed = { client: this, model, selection: options, clock, logger, random };
    return createBackedInformer({
      model,
      selection: options,
      clock,
      logger,
      back: (shape) =>
        new ServedBacking({
          ...followed,
          local: () => new LocalBacking({ ...followed, shape }),
          copy: () => createListWatchBacking(listed, shape),
        }),
    });
  }

  async #apply<T extends ApiObject>(
    model: Model<T>,
    object: AppliedObject<T>,
    options: ApplyOptions & Pick<RegistryApplyOptions, 'onContested'>,
  ): Promise<T> {
    const { name, namespace = options.namespace } = object.metadata;
    this.#check(model, { verb: 'patch', name, namespace, subresource: options.subresource });
    const resource = await this.#resource(model);
    const { apiVersion, model: descriptor } = resource;
    const checkCreate = (): void => this.#check(model, { verb: 'create', name, namespace });
    const key = keyFor(name, namespace === undefined ? {} : { namespace });
    const body = bodyOf({ apiVersion, kind: descriptor.kind, ...(object as object) });
    requireFieldManager(options.fieldManager);
    return this.#answer(
      await this.#parts.registry.apply(resource, key, body, { ...this.#written(options), checkCreate }),
    );
  }

  /** Checks that the guard allows the call. @throws ApiError Forbidden when it does not */
  #check(model: Model, call: GuardedCall): void {
    const { guard } = this.#parts;
    if (guard !== undefined) guard.check(attributesOf(descriptorOf(model), call));
  }

  /**
   * Calls the listener after each change of permissions; never if the client has no guard, because then it may make all
   * calls. Returns a function that removes the listener.
   */
  readonly #onChange = (listener: () => void): (() => void) =>
    this.#parts.guard?.onChange(listener) ?? (() => undefined);

  /** Adds writer, user, author and field manager to the options. A caller can choose only the field manager. */
  #written<O extends WriteOptions>(options: O): O & Pick<RegistryWriteOptions, 'user'> & Written {
    const { writer = 'service', fieldManager: own = 'homeostat', guard, author } = this.#parts;
    const { fieldManager = own } = options;
    if (fieldManager !== own) checkFieldManager(fieldManager, 'UpdateOptions');
    // The code uses Object.assign, because after a spread followed by fields, each result would have its own hidden
    // class in V8.
    return Object.assign({}, options, { fieldManager, writer, user: guard?.user, author });
  }

  /**
   * Returns the resource of a model; while the kind is not served, returns a promise that resolves with the resource
   * once the kind is served. The promise rejects with ApiError ServiceUnavailable if the objects of the kind cannot be
   * indexed. If the kind is not registered, the promise rejects at once: with ServiceUnavailable if the server expects
   * to serve the kind again, otherwise with NotFound.
   * @throws ApiError NotFound for a version in which objects are only stored
   */
  #resource(model: Model): Promise<Resource> | Resource {
    return this.#ready(descriptorOf(model));
  }

  /**
   * Resolves with the model of an object as soon as its kind is served. If the kind is not registered, or its indexes
   * cannot be built, rejects with the error with which an update of the object would fail.
   */
  async modelOf(object: ApiObject): Promise<ModelDescriptor> {
    return (await this.#resourceOf(object)).model;
  }

  #resourceOf(object: ApiObject): Promise<Resource> | Resource {
    const slash = object.apiVersion.indexOf('/');
    const group = slash < 0 ? '' : object.apiVersion.slice(0, slash);
    return this.#ready({ group, version: object.apiVersion.slice(slash + 1), kind: object.kind });
  }

  #ready(gvk: Wanted): Promise<Resource> | Resource {
    const resource = this.#parts.table.get(gvk);
    return resource === undefined ? this.#whenReady(gvk) : offered(resource);
  }

  async #whenReady(gvk: Wanted): Promise<Resource> {
    try {
      return offered(await this.#parts.table.whenReady(gvk));
    } catch (cause) {
      const failure = this.#parts.table.failureOf(gvk);
      if (failure !== undefined) throw failure;
      const { group, plural } = gvk;
      const refusal = plural === undefined ? undefined : this.#parts.absent.refusalOf({ group, plural });
      if (refusal !== undefined) throw refusal;
      throw new ApiError('NotFound', `${apiVersionOf(gvk)} ${gvk.kind} is not served`, { cause });
    }
  }

  #answer<T extends ApiObject>({ object, resourceVersion, warnings }: WriteResult): T {
    const { name } = object.metadata;
    const { logger, fieldManager } = this.#parts;
    for (const warning of warnings)
      logger.warn({ kind: object.kind, object: name, fieldManager, warning }, 'the response to a write has a warning');
    const { apiVersion, kind, metadata, ...fields } = object;
    const { resourceVersion: _draft, ...rest } = metadata;
    const answered = resourceVersion === undefined ? rest : { resourceVersion, ...rest };
    return freezeDeep({ apiVersion, kind, metadata: answered, ...fields } as ApiObject as T);
  }
}

/** The writer (`user`, `plugin` or `service`) and the field manager of a write. */
interface Written {
  readonly writer: Writer;
  readonly fieldManager: string;
}

/** The kind whose resource a call needs. `plural` is absent if the kind was read from an object. */
type Wanted = GroupVersionKind & { readonly plural?: string };

/** Returns the resource. Throws for a version in which objects are only stored and not served. */
function offered(resource: Resource): Resource {
  if (resource.model.served !== false) return resource;
  throw new ApiError('NotFound', `${resource.apiVersion} ${resource.model.kind} is not served`);
}

/**
 * Returns a function that returns a new copy of a value at each call, with only values that JSON can represent.
 * @throws ApiError BadRequest for a value that no request body can contain, such as a cycle or a bigint
 */
function bodyOf(value: unknown): BodySource {
  const first = measuredCopy(value, objectLimits);
  let isTaken = false;
  const read = (): unknown => {
    if (isTaken) return copyAsJsonObject(value, objectLimits);
    isTaken = true;
    return first.value;
  };
  return first.bytes > largeBody ? Object.assign(read, { isLarge: true }) : read;
}

/** Returns the namespace of a list or watch, and the name of its only object if the field selector gives one. */
function selected({
  namespace,
  fieldSelector,
}: Pick<ListOptions, 'namespace' | 'fieldSelector'>): Pick<GuardedCall, 'name' | 'namespace'> {
  const terms = fieldSelector === undefined ? [] : parseFieldSelector(fieldSelector);
  const named = terms.find(
    ({ key, operator, values }) => key === 'metadata.name' && operator === 'in' && values.length === 1,
  );
  return { namespace, name: named?.values[0] };
}

function keyFor(name: string, { namespace }: NamespaceOptions): ObjectKey {
  return namespace === undefined ? { name } : { name, namespace };
}
