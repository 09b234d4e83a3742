import { EventEmitter } from 'eventemitter3';
import { checkDescriptor, descriptorOf, IndexSpecs, ModelError } from '@homeostat/controller-runtime/api';
import type { ApiObject, GroupVersionKind, IndexSpec, Model, ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { SchemaOrigin } from '../../schema/judge/validator.ts';
import { vaultKind } from '../../vault/vault-kind.ts';
import { expressionJudge } from '../rules/expression-judge.ts';
import { versionsOfKind } from './kind-versions.ts';

/** A frozen value that describes a registered version of a kind. */
export interface Registration<T extends ApiObject = ApiObject> {
  /** The model, with its own indexes and those that the callback of the registration added. */
  readonly descriptor: ModelDescriptor<T>;
  /** The owner of the model: a plugin's name, `service`, or `crd:<name>` for a CustomResourceDefinition. */
  readonly owner: string;
  /** The author of the schema. `code`: a plugin or the server. `client`: a client that has declared the kind. */
  readonly origin: SchemaOrigin;
}

export interface RegisterOptions {
  /** The owner of the model. Default `service`, the server itself, which alone may use reserved groups and plurals. */
  readonly owner?: string;
  /** The group in the manifest of the plugin. Its models must be in this group or below it. */
  readonly group?: string;
  /** The author of the schema. Default `code`. The schema of a `client` was checked when its definition was written. */
  readonly origin?: SchemaOrigin;
}

/**
 * A synchronous function that declares the indexes of a model while the model is registered (specification, section
 * 2.8).
 */
export type IndexCallback<T extends ApiObject> = (indexSpecs: IndexSpecs<T>) => void;

interface SchemeEvents {
  readonly registered: (registration: Registration) => void;
  readonly unregistered: (registration: Registration) => void;
  /** Called when the model of a kind was replaced. */
  readonly replaced: (registration: Registration) => void;
}

/** The name that stands in {@link Registration.owner} when the server itself, and no plugin, registered the model. */
export const serviceOwner = 'service';

/**
 * The registered kinds, each with its owner: the plugin, the CustomResourceDefinition or the server that declares the
 * kind. All methods are synchronous; listeners react to registrations.
 */
export class SchemeManager {
  /**
   * The domain of the service's own groups, in and below which no plugin may register a kind (section 2.1 of the
   * specification).
   */
  readonly serviceDomain: string;
  /** The kinds, each with the model that was registered, which is the model of its storage version. */
  readonly #kinds = new Map<string, Registration>();
  /** All registered versions of all kinds. */
  readonly #registrations = new Map<string, Registration>();
  /** All registered versions of all kinds, by the paths of requests. */
  readonly #byPlural = new Map<string, Registration>();
  readonly #emitter = new EventEmitter<SchemeEvents>();

  constructor(options: { readonly serviceDomain: string }) {
    this.serviceDomain = options.serviceDomain;
  }

  /**
   * Registers a model, with its other versions if it has any (`defineVersions`). `callback` declares further indexes.
   * `options.owner` says who declares the model: a plugin, a CustomResourceDefinition or the server. If this owner has
   * already registered this version of the kind, returns the first registration and changes nothing, even if the schema
   * differs. An error leaves all registrations as they were. @throws ModelError for an attribute that breaks a rule
   * (names both); for a kind that another owner has registered (names both owners); for a second registration with
   * other indexes than the first one (names the indexes). Also throws any error of `callback` or of a listener.
   */
  register<T extends ApiObject>(
    model: Model<T>,
    callback?: IndexCallback<T>,
    options: RegisterOptions = {},
  ): Registration<T> {
    const { owner = serviceOwner, group, origin = 'code' } = options;
    const declared = descriptorOf(model);
    const existing = this.lookup(declared);
    if (existing?.owner === owner) {
      checkSameIndexes(existing.descriptor, withIndexes(declared, callback), callback !== undefined);
      return existing as Registration<T>;
    }
    if (existing !== undefined) throw takenBy(declared, 'gvk', existing, owner);
    if (declared.group === vaultKind.group)
      throw new ModelError(
        declared.kind,
        'gvk',
        `${vaultKind.group} is reserved for the server's own secrets, which no API path serves`,
      );
    const descriptor = withIndexes(declared, callback);
    checkDescriptor(descriptor, {
      serviceDomain: this.serviceDomain,
      reservedAllowed: owner === serviceOwner,
      schemasJudged: origin === 'client',
      ...(group === undefined ? {} : { ownGroup: group }),
    });
    if (origin === 'code') checkRules(descriptor);
    this.#checkNames(descriptor, owner);
    const registration: Registration<T> = Object.freeze({ descriptor, owner, origin });
    this.#publish(registration);
    return registration;
  }

  /**
   * Replaces a registered model by a newer one of the same owner, for example with another schema or other columns. The
   * kind, the plural, the singular, the scope, the versions and the indexes must be the same. Objects and watches are
   * not affected. After an error, the former model stays. @throws ModelError that names the attribute and the rule; any
   * error of a listener.
   */
  replace(model: ModelDescriptor, owner: string): Registration {
    const existing = this.lookup(model);
    if (existing === undefined) throw new ModelError(model.kind, 'gvk', 'is not registered');
    if (existing.owner !== owner) throw takenBy(model, 'gvk', existing, owner);
    const { origin } = existing;
    checkDescriptor(model, {
      serviceDomain: this.serviceDomain,
      reservedAllowed: owner === serviceOwner,
      schemasJudged: origin === 'client',
    });
    if (origin === 'code') checkRules(model);
    checkReplaceable(existing.descriptor, model);
    const registration: Registration = Object.freeze({ descriptor: model, owner, origin });
    this.#set(registration);
    const [error] = this.#notify('replaced', registration);
    if (error === undefined) return registration;
    this.#set(existing);
    throw joined([error]);
  }

  /**
   * Unregisters all versions of a kind; returns false when the kind is not registered. All listeners are called, even
   * if one throws; their errors are thrown together.
   * @throws ModelError when another owner than `owner` has registered the kind.
   */
  unregister(model: Model | GroupVersionKind, owner: string): boolean {
    const gvk = typeof model === 'function' ? descriptorOf(model) : model;
    const registration = this.lookup(gvk);
    if (registration === undefined) return false;
    if (registration.owner !== owner) throw takenBy(registration.descriptor, 'gvk', registration, owner);
    const kind = this.#kinds.get(kindKeyOf(gvk));
    if (kind === undefined) return false;
    this.#remove(kind.descriptor);
    const errors = this.#notify('unregistered', kind);
    if (errors.length > 0) throw joined(errors);
    return true;
  }

  lookup(gvk: GroupVersionKind): Registration | undefined {
    return this.#registrations.get(keyOf(gvk));
  }

  lookupPlural(group: string, version: string, plural: string): Registration | undefined {
    return this.#byPlural.get(pluralKeyOf({ group, version, plural }));
  }

  /** Returns the registrations in the order in which they were made, each kind in its storage version. */
  list(): readonly Registration[] {
    return [...this.#kinds.values()];
  }

  /**
   * Calls the listener at every later event of this type. Returns a function that unsubscribes it. If a listener of
   * `registered` throws, the registration is undone, and `unregistered` is called for all listeners, including those
   * that were not yet called.
   */
  on<E extends keyof SchemeEvents>(event: E, listener: (registration: Registration) => void): () => void {
    this.#emitter.on(event, listener);
    return () => this.#emitter.off(event, listener);
  }

  /** Returns the scheme for the plugin `owner`. The plugin's models must be in `group` or below it. */
  forOwner(owner: string, options: { readonly group?: string } = {}): OwnedScheme {
    return new OwnedScheme(this, { ...options, owner });
  }

  #publish(registration: Registration): void {
    this.#set(registration);
    const [error] = this.#notify('registered', registration);
    if (error === undefined) return;
    this.#remove(registration.descriptor);
    throw joined([error, ...this.#notify('unregistered', registration)]);
  }

  #set(registration: Registration): void {
    const { descriptor: storage, owner, origin } = registration;
    this.#kinds.set(kindKeyOf(storage), registration);
    for (const descriptor of versionsOfKind(storage)) {
      const each = descriptor === storage ? registration : Object.freeze({ descriptor, owner, origin });
      this.#registrations.set(keyOf(descriptor), each);
      this.#byPlural.set(pluralKeyOf(descriptor), each);
    }
  }

  #remove(storage: ModelDescriptor): void {
    this.#kinds.delete(kindKeyOf(storage));
    for (const descriptor of versionsOfKind(storage)) {
      this.#registrations.delete(keyOf(descriptor));
      this.#byPlural.delete(pluralKeyOf(descriptor));
    }
  }

  // `emit` would stop at the first listener that throws. The event `unregistered` must reach every listener, so this
  // function calls the listeners itself. For all other events, this function stops at the first error, like `emit`.
  #notify(event: keyof SchemeEvents, registration: Registration): unknown[] {
    const errors: unknown[] = [];
    for (const listener of this.#emitter.listeners(event)) {
      try {
        listener(registration);
      } catch (error) {
        errors.push(error);
        if (event !== 'unregistered') break;
      }
    }
    return errors;
  }

  #checkNames(descriptor: ModelDescriptor, owner: string): void {
    for (const other of this.list()) {
      if (other.descriptor.group !== descriptor.group) continue;
      if (other.descriptor.kind === descriptor.kind) throw refuseApart(other, descriptor, owner);
      else checkDistinct(other, descriptor, owner);
    }
  }
}

/** A plugin's access to the {@link SchemeManager}: registers, unregisters and lists only the kinds of the plugin. */
export class OwnedScheme {
  readonly #manager: SchemeManager;
  readonly #options: RegisterOptions & { readonly owner: string };

  constructor(manager: SchemeManager, options: RegisterOptions & { readonly owner: string }) {
    this.#manager = manager;
    this.#options = options;
  }

  /** Registers a model. `callback` declares further indexes. @throws as {@link SchemeManager.register}. */
  register<T extends ApiObject>(model: Model<T>, callback?: IndexCallback<T>): Registration<T> {
    return this.#manager.register(model, callback, this.#options);
  }

  /** Unregisters all versions of a kind. @throws ModelError when another owner than this plugin has registered it. */
  unregister(model: Model | GroupVersionKind): boolean {
    return this.#manager.unregister(model, this.#options.owner);
  }

  /** Returns the kinds that the plugin has registered and not unregistered, in the order of registration. */
  registered(): readonly Registration[] {
    return this.#manager.list().filter(({ owner }) => owner === this.#options.owner);
  }
}

function withIndexes<T extends ApiObject>(
  declared: ModelDescriptor<T>,
  callback?: IndexCallback<T>,
): ModelDescriptor<T> {
  const indexSpecs = new IndexSpecs<T>(declared.kind, declared.indexes);
  const returned: unknown = callback?.(indexSpecs);
  indexSpecs.close();
  if (returned instanceof Promise) {
    // An asynchronous callback is refused here. If its promise rejects, for example because the callback declares an
    // index later, the rejection is ignored.
    returned.catch(() => undefined);
    throw new ModelError(declared.kind, 'indexes', 'the callback that declares indexes must not be asynchronous');
  }
  return Object.freeze({ ...declared, indexes: Object.freeze(indexSpecs.list()) });
}

/** Compiles the CEL rules of all versions. @throws ModelError */
function checkRules(model: ModelDescriptor): void {
  for (const version of versionsOfKind(model)) expressionJudge(version, 'code');
}

/**
 * Checks that a second registration has the same indexes, because objects are indexed only once. A second registration
 * without a callback may omit the indexes that the callback of the first registration added.
 */
function checkSameIndexes(before: ModelDescriptor, again: ModelDescriptor, isWhole: boolean): void {
  const known = before.indexes.map(describeIndex);
  const given = again.indexes.map(describeIndex);
  const isSame = given.every((each) => known.includes(each)) && (!isWhole || given.length === known.length);
  if (isSame) return;
  const rule = `the model is registered already, with other indexes (${known.join(', ')}; now ${given.join(', ')}); unregister it first`;
  throw new ModelError(again.kind, 'indexes', rule);
}

function describeIndex({ name, order, unique }: IndexSpec): string {
  return `${name} ${order}${unique ? ' unique' : ''}`;
}

/**
 * Returns the error for a model that is another version of a registered kind. All versions share their objects, so one
 * model must declare all versions and their conversions.
 */
function refuseApart(other: Registration, descriptor: ModelDescriptor, owner: string): ModelError {
  if (other.owner !== owner) return takenBy(descriptor, 'kind', other, owner);
  const rule = `"${descriptor.version}" must be registered together with ${other.descriptor.version} of the same kind: see defineVersions`;
  return new ModelError(descriptor.kind, 'version', rule);
}

function checkReplaceable(before: ModelDescriptor, next: ModelDescriptor): void {
  for (const attribute of ['plural', 'singular', 'scope'] as const)
    if (before[attribute] !== next[attribute])
      throw new ModelError(next.kind, attribute, `must stay "${before[attribute]}" while the kind is served`);
  const [known, given] = [before, next].map((model) =>
    versionsOfKind(model)
      .map(({ version }) => version)
      .join(),
  );
  if (known !== given) throw new ModelError(next.kind, 'versions', `must stay ${known} while the kind is served`);
  const isSame = before.indexes.length === next.indexes.length && before.indexes.every((e, i) => e === next.indexes[i]);
  if (!isSame) throw new ModelError(next.kind, 'indexes', 'must stay the same while the kind is served');
}

function checkDistinct(other: Registration, descriptor: ModelDescriptor, owner: string): void {
  const taken = [other.descriptor.plural, other.descriptor.singular];
  for (const attribute of ['plural', 'singular'] as const) {
    if (taken.includes(descriptor[attribute])) throw takenBy(descriptor, attribute, other, owner);
  }
}

function takenBy(descriptor: ModelDescriptor, attribute: string, other: Registration, owner: string): ModelError {
  const { group, version, kind } = other.descriptor;
  const rule =
    attribute === 'plural' || attribute === 'singular'
      ? `"${descriptor[attribute]}" is already a name of ${group}/${version} ${kind}, which belongs to "${other.owner}"`
      : `${group}/${version} ${kind} belongs to "${other.owner}", not to "${owner}"`;
  return new ModelError(descriptor.kind, attribute, rule);
}

function joined(errors: readonly unknown[]): unknown {
  const [first] = errors;
  return errors.length === 1
    ? first
    : new AggregateError(errors, first instanceof Error ? first.message : String(first));
}

function keyOf({ group, version, kind }: GroupVersionKind): string {
  return `${group}/${version}/${kind}`;
}

function kindKeyOf({ group, kind }: Pick<GroupVersionKind, 'group' | 'kind'>): string {
  return `${group}/${kind}`;
}

function pluralKeyOf({ group, version, plural }: Pick<ModelDescriptor, 'group' | 'version' | 'plural'>): string {
  return `${group}/${version}/${plural}`;
}
