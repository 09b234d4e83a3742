import { isApiError, ModelError } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { IndexBuildError } from '../registry/kinds/index-build.ts';
import { versionsOfKind } from '../registry/kinds/kind-versions.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import type { Resource } from '../registry/kinds/resource.ts';
import type { SchemeManager } from '../registry/kinds/scheme-manager.ts';
import { compileSchema } from '../schema/compile-schema.ts';
import { inTurns } from '../turns/in-turns.ts';
import type { MeasuredWork } from '../turns/in-turns.ts';
import { storeErrorCodeOf } from '../store/store-error.ts';
import { isServed } from './definition.ts';
import type { CustomResourceDefinition } from './definition.ts';
import { identityOfModel, modelOfDefinition } from './model-of-definition.ts';
import type { ConvertTo } from './model-of-definition.ts';

/** The result of the attempt to serve the kind of a definition. */
export type ServingOutcome =
  | { readonly kind: 'served' }
  /** Another kind already has one of the definition's names; `reason` is one CamelCase word. */
  | { readonly kind: 'conflict'; readonly reason: string; readonly message: string }
  | { readonly kind: 'refused'; readonly message: string }
  /** Stored objects cannot be converted to the storage version now. The webhook may convert them later. */
  | { readonly kind: 'unconverted'; readonly message: string };

interface Served {
  readonly uid: string;
  readonly generation: number;
  readonly model: ModelDescriptor;
}

export interface ServedDefinitionsParts {
  readonly schemes: SchemeManager;
  readonly table: ResourceTable;
  /**
   * Returns the conversion of a definition with a conversion webhook; undefined for any other definition. Default: no
   * definition is converted by a webhook.
   */
  readonly converterOf?: (definition: CustomResourceDefinition) => ConvertTo | undefined;
}

/**
 * Serves the kinds that definitions declare. Callers must not make two calls for the same definition at the same time.
 */
export class ServedDefinitions {
  readonly #parts: ServedDefinitionsParts;
  readonly #served = new Map<string, Served>();

  constructor(parts: ServedDefinitionsParts) {
    this.#parts = parts;
  }

  /**
   * Serves the kind of a definition as the definition is now. A change that keeps {@link identityOfModel} equal, such
   * as a change of limits in the schema, does not affect watches and objects. Rejects only when the database fails; for
   * any other obstacle, such as a mistake in the definition, resolves with the outcome.
   */
  async serve(definition: CustomResourceDefinition): Promise<ServingOutcome> {
    const { name, uid, generation } = definition.metadata;
    if (!isServed(definition.spec)) {
      this.withdraw(name);
      return { kind: 'refused', message: 'no version is served' };
    }
    const known = this.#served.get(name);
    if (known?.uid === uid && known.generation === generation) return { kind: 'served' };
    return this.#register(definition);
  }

  /**
   * Serves and returns the kind of a definition that is being deleted, so that the kind's objects can be deleted first.
   * Resolves with undefined when the kind cannot be served, for example because another kind has its names.
   */
  async openForCleanup(definition: CustomResourceDefinition): Promise<Resource | undefined> {
    const { name } = definition.metadata;
    if (!this.#served.has(name)) await this.#register(withStorageServed(definition));
    if (!this.#served.has(name)) await this.#register(withStorageServed(withoutSingular(definition)));
    return this.opened(name);
  }

  /** Returns the kind that is served for the definition with this name; undefined when there is none. */
  opened(name: string): Resource | undefined {
    const known = this.#served.get(name);
    return known === undefined ? undefined : this.#parts.table.get(known.model);
  }

  withdraw(name: string): void {
    const known = this.#served.get(name);
    if (known === undefined) return;
    this.#served.delete(name);
    this.#parts.schemes.unregister(known.model, ownerOf(name));
  }

  async #register(definition: CustomResourceDefinition): Promise<ServingOutcome> {
    const { name, uid, generation } = definition.metadata;
    try {
      const model = await this.#publish(
        name,
        await frozen(modelOfDefinition(definition, this.#parts.converterOf?.(definition))),
      );
      this.#served.set(name, { uid, generation, model });
      return { kind: 'served' };
    } catch (error) {
      this.withdraw(name);
      if (storeErrorCodeOf(error) !== undefined) throw error;
      return failure(error);
    }
  }

  async #publish(name: string, model: ModelDescriptor): Promise<ModelDescriptor> {
    const { schemes, table } = this.#parts;
    const owner = ownerOf(name);
    const known = this.#served.get(name);
    if (known !== undefined && identityOfModel(known.model) === identityOfModel(model)) {
      const next = Object.freeze({ ...model, indexes: known.model.indexes });
      // The patterns are compiled first, because objects may be written in the same turn of the event loop in which the
      // new model replaces the old one.
      await writable(next);
      return schemes.replace(next, owner).descriptor;
    }
    this.withdraw(name);
    schemes.register(model, undefined, { owner, origin: 'client' });
    try {
      await table.whenReady(model);
      return model;
    } catch (error) {
      schemes.unregister(model, owner);
      throw error;
    }
  }
}

/**
 * Returns the definition with its plural as its singular name. When another kind has the original singular name, the
 * server can serve the returned definition, but not the original one. So the kind's objects can still be deleted.
 */
function withoutSingular(definition: CustomResourceDefinition): CustomResourceDefinition {
  const { spec } = definition;
  return { ...definition, spec: { ...spec, names: { ...spec.names, singular: spec.names.plural } } };
}

/** The number of values that are frozen in one turn of the event loop. To freeze them takes 2 ms. */
const frozenPerTurn = 20_000;

/** Freezes a model in several turns of the event loop, because the model of a large definition has 100,000 values. */
function frozen(model: ModelDescriptor): Promise<ModelDescriptor> {
  return inTurns(freezeInSteps(model), frozenPerTurn);
}

function* freezeInSteps<T>(value: T): MeasuredWork<T> {
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next !== 'object' || next === null || Object.isFrozen(next)) continue;
    Object.freeze(next);
    for (const child of Object.values(next)) open.push(child);
    yield 1;
  }
  return value;
}

/** Resolves when the patterns of all versions are compiled. */
async function writable(model: ModelDescriptor): Promise<void> {
  for (const version of versionsOfKind(model)) await compileSchema(version, 'client').whenReady?.();
}

/**
 * Returns the definition with its storage version marked as served, so that the kind's objects can be deleted even when
 * the definition serves no version.
 */
function withStorageServed(definition: CustomResourceDefinition): CustomResourceDefinition {
  const { spec } = definition;
  const versions = spec.versions.map((version) => ({ ...version, served: version.served || version.storage }));
  return { ...definition, spec: { ...spec, versions } };
}

/**
 * The owner of a model is a text: the name of a plugin, or, for the model of a CustomResourceDefinition, this prefix
 * and the name of the definition. The names of plugins have no colon, so none begins with this prefix.
 */
const ownerPrefix = 'crd:';

function ownerOf(name: string): string {
  return ownerPrefix + name;
}

/** Returns the name of the definition that owns a kind; undefined when a plugin or the server itself owns it. */
export function definitionOfOwner(owner: string): string | undefined {
  return owner.startsWith(ownerPrefix) ? owner.slice(ownerPrefix.length) : undefined;
}

const conflicts: Readonly<Record<string, string>> = {
  plural: 'PluralConflict',
  singular: 'SingularConflict',
  kind: 'KindConflict',
  gvk: 'KindConflict',
};

function failure(error: unknown): ServingOutcome {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof IndexBuildError && isApiError(error.cause)) return { kind: 'unconverted', message };
  const reason = error instanceof ModelError ? conflicts[error.attribute] : undefined;
  return reason === undefined ? { kind: 'refused', message } : { kind: 'conflict', reason, message };
}
