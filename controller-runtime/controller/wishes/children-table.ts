import type { ApiObject, ModelDescriptor } from '../../api/index.ts';
import { cacheIdOf } from '../definition/kind-id.ts';
import type { Wish } from '../definition/wish.ts';

/** A dependent and its kind. */
export interface Child {
  readonly model: ModelDescriptor;
  readonly object: ApiObject;
}

/** The dependents of one owned kind. */
export interface ChildrenOfKind {
  readonly model: ModelDescriptor;
  readonly cacheId: string;
  readonly objects: readonly ApiObject[];
}

/**
 * The owner's dependents of one kind. Each dependent is taken by at most one wish: the wish that has its name and
 * namespace. The table then removes the dependent from `left`.
 */
interface KindTable {
  readonly kind: ChildrenOfKind;
  /** The dependents for which no wish is known yet. When a wish names a dependent, undefined takes its place here. */
  readonly left: (ApiObject | undefined)[];
  /**
   * The position after the dependent that was taken last. The search begins there, because a controller usually lists
   * its wishes in the order in which it created the dependents.
   */
  next: number;
  /**
   * The position of each dependent in `left`, by the dependent's key. The map is undefined as long as each wish names
   * the dependent at the position `next`.
   */
  byKey: Map<string, number> | undefined;
}

/**
 * The existing dependents. The table finds the dependent of each wish, and the dependents for which there is no wish.
 * Most runs change nothing. To keep these runs cheap, the table creates no strings or maps as long as the wishes are in
 * the order of the dependents.
 */
export class ChildrenTable {
  readonly #tables: readonly KindTable[];
  readonly #owner: ApiObject;
  #absent: Set<string> | undefined;

  constructor(kinds: readonly ChildrenOfKind[], owner: ApiObject) {
    this.#tables = kinds.map((kind) => ({ kind, left: [...kind.objects], next: 0, byKey: undefined }));
    this.#owner = owner;
  }

  /**
   * Returns the dependent of a wish; undefined when it does not exist. Throws TypeError when an earlier wish was for
   * the same object, or when the controller does not own the kind.
   */
  take(wish: Wish): ApiObject | undefined {
    const { model, object } = wish;
    const table = this.#tableOf(model);
    const { name } = object.metadata;
    const namespace =
      model.scope === 'Cluster' ? undefined : (object.metadata.namespace ?? this.#owner.metadata.namespace);
    const position = positionOf(table, name, namespace);
    if (position === undefined) {
      this.#noteAbsent(table, wish, namespace);
      return undefined;
    }
    const taken = table.left[position];
    if (taken === undefined) throw wishedTwice(wish);
    table.left[position] = undefined;
    table.next = position + 1;
    return taken;
  }

  /** Returns the dependents that no wish has taken. */
  rest(): readonly Child[] {
    const rest: Child[] = [];
    for (const { kind, left } of this.#tables) {
      for (const object of left) if (object !== undefined) rest.push({ model: kind.model, object });
    }
    return rest;
  }

  #tableOf(model: ModelDescriptor): KindTable {
    for (const table of this.#tables) if (table.kind.model === model) return table;
    const cacheId = cacheIdOf(model);
    const found = this.#tables.find(({ kind }) => kind.cacheId === cacheId);
    if (found !== undefined) return found;
    throw new TypeError(`own: the controller does not own ${model.kind}: add ${model.kind} to its "owns"`);
  }

  #noteAbsent({ kind }: KindTable, wish: Wish, namespace: string | undefined): void {
    const key = `${kind.cacheId} ${keyText(wish.object.metadata.name, namespace)}`;
    this.#absent ??= new Set();
    if (this.#absent.has(key)) throw wishedTwice(wish);
    this.#absent.add(key);
  }
}

function positionOf(table: KindTable, name: string, namespace: string | undefined): number | undefined {
  const { left, next } = table;
  const metadata = left[next]?.metadata;
  if (metadata?.name === name && metadata.namespace === namespace) return next;
  table.byKey ??= positionsByKey(table.kind.objects);
  return table.byKey.get(keyText(name, namespace));
}

function positionsByKey(objects: readonly ApiObject[]): Map<string, number> {
  return new Map(objects.map(({ metadata }, position) => [keyText(metadata.name, metadata.namespace), position]));
}

function keyText(name: string, namespace: string | undefined): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

function wishedTwice({ model, object }: Wish): TypeError {
  return new TypeError(`own: ${model.kind} "${object.metadata.name}" is wished twice`);
}
