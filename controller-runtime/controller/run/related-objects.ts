import {
  compareCodePoints,
  descriptorOf,
  formatKey,
  keyOf,
  type ApiObject,
  type IndexAttribute,
  type Model,
  type ModelDescriptor,
} from '../../api/index.ts';
import type { Informer } from '../../client/informer.ts';
import { checkIndexes, type FollowedKind } from '../definition/followed-kind.ts';
import { cacheIdOf } from '../definition/kind-id.ts';
import { controllerOf } from '../definition/owner-references.ts';
import type { ChildrenOfKind } from '../wishes/children-table.ts';
import type { CacheView, ViewIndex } from './cache-view.ts';

/**
 * The index function that finds dependents by the uid of their controller owner. All controllers use this one function,
 * so that controllers with a shared cache also share the index.
 */
const byController: ViewIndex = {
  name: 'homeostat/controller-uid',
  valuesOf(object: ApiObject): readonly string[] {
    const owner = controllerOf(object);
    return owner === undefined ? [] : [owner.uid];
  },
};

export interface RelatedObjectsParts {
  /** The name of the controller, for messages. */
  readonly controller: string;
  /** The kinds that the controller owns. */
  readonly owns: readonly FollowedKind[];
  /** All kinds that the controller follows. */
  readonly follows: readonly FollowedKind[];
  /** The informers from whose caches runs read, by cache id. */
  readonly informers: ReadonlyMap<string, Informer<ApiObject>>;
  readonly view: CacheView;
}

/**
 * Reads objects by index from the caches of a controller, without a request. The objects are never older than the
 * controller's own writes.
 */
export class RelatedObjects {
  readonly #parts: RelatedObjectsParts;
  readonly #owned: ReadonlyMap<string, ModelDescriptor>;
  /** The indexes that models declare and this controller reads, by cache id and name. */
  readonly #declared = new Map<string, ViewIndex>();

  /** Adds indexes to the caches of the controller, for the reads by owner and by declared index. */
  constructor(parts: RelatedObjectsParts) {
    this.#parts = parts;
    this.#owned = new Map(parts.owns.map(({ model }) => [cacheIdOf(model), model]));
    for (const cacheId of this.#owned.keys())
      parts.informers.get(cacheId)?.addIndex(byController.name, byController.valuesOf);
    for (const followed of parts.follows) this.addIndexes(followed);
  }

  /** Adds the indexes that the controller reads with `related` to the cache of a followed kind. */
  addIndexes({ model, indexes }: FollowedKind): void {
    const cacheId = cacheIdOf(model);
    for (const { name, indexFunc } of model.indexes) {
      if (!indexes.includes(name)) continue;
      const index = { name: `declared/${name}`, valuesOf: functionOf(indexFunc) };
      this.#parts.informers.get(cacheId)?.addIndex(index.name, index.valuesOf);
      this.#declared.set(`${cacheId} ${name}`, index);
    }
  }

  /**
   * Returns the objects of a kind whose controller owner is `owner`, sorted by key. Throws TypeError for a kind that
   * the controller does not own, and for a kind of whose objects it caches only some fields.
   */
  children<O extends ApiObject>(model: Model<O>, owner: ApiObject): readonly O[] {
    const descriptor = descriptorOf(model);
    const cacheId = cacheIdOf(descriptor);
    if (!this.#owned.has(cacheId)) {
      const { kind } = descriptor;
      throw new TypeError(`controller "${this.#parts.controller}" does not own ${kind}: add ${kind} to its "owns"`);
    }
    this.#checkWhole(cacheId, descriptor);
    return this.#find<O>(cacheId, byController, owner.metadata.uid);
  }

  /** Returns, for each owned kind, the objects whose controller owner is `owner`, in no particular order. */
  allChildren(owner: ApiObject): readonly ChildrenOfKind[] {
    const { view } = this.#parts;
    const children: ChildrenOfKind[] = [];
    for (const [cacheId, model] of this.#owned) {
      this.#checkWhole(cacheId, model);
      children.push({ model, cacheId, objects: view.byIndex(cacheId, byController, owner.metadata.uid) });
    }
    return children;
  }

  /**
   * Returns the objects of a followed kind that have `value` under an index that the model declares, sorted by key.
   * Throws TypeError for a kind that is not followed, for a kind of whose objects only some fields are cached, and for
   * an index that the controller does not list in `indexes`; RangeError for an index that the model does not declare.
   */
  related<O extends ApiObject>(model: Model<O>, index: string, value: string): readonly O[] {
    const descriptor = descriptorOf(model);
    const cacheId = cacheIdOf(descriptor);
    return this.#find<O>(cacheId, this.#declaredIndex(descriptor, cacheId, index), value);
  }

  #find<O extends ApiObject>(cacheId: string, index: ViewIndex, value: string): readonly O[] {
    const found = this.#parts.view.byIndex(cacheId, index, value) as readonly O[];
    return found.length < 2 ? found : found.toSorted(compareKeys);
  }

  #declaredIndex(model: ModelDescriptor, cacheId: string, name: string): ViewIndex {
    const { controller, follows } = this.#parts;
    const { kind } = model;
    if (!follows.some((followed) => cacheIdOf(followed.model) === cacheId)) {
      const cure = `add ${kind} to "owns", or on(${kind}, …) to "watches"`;
      throw new TypeError(`controller "${controller}" does not follow ${kind}: ${cure}`);
    }
    this.#checkWhole(cacheId, model);
    const declared = this.#declared.get(`${cacheId} ${name}`);
    if (declared !== undefined) return declared;
    checkIndexes(model, [name]);
    throw new TypeError(
      `controller "${controller}" does not index ${kind} by ${JSON.stringify(name)}: add this index to the option "indexes" of ${kind} in the controller`,
    );
  }

  #checkWhole(cacheId: string, { kind }: ModelDescriptor): void {
    if (this.#parts.informers.has(cacheId)) return;
    throw new TypeError(
      `controller "${this.#parts.controller}" caches only parts of ${kind} objects, because it follows them with "metadataOnly" or "transform"`,
    );
  }
}

const functions = new WeakMap<IndexAttribute, ViewIndex['valuesOf']>();

/**
 * Returns the same function at each call for an attribute, so that controllers with a shared cache also share the
 * index.
 */
function functionOf(attribute: IndexAttribute): ViewIndex['valuesOf'] {
  let found = functions.get(attribute);
  if (found === undefined) functions.set(attribute, (found = (object) => attribute.valuesOf(object)));
  return found;
}

function compareKeys(a: ApiObject, b: ApiObject): number {
  return compareCodePoints(formatKey(keyOf(a)), formatKey(keyOf(b)));
}
