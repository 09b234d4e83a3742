import { formatKey, keyOf } from '../api/index.ts';
import type { ApiObject, WatchEvent } from '../api/index.ts';
import type { BackingSink, InformerBacking } from './backed-informer.ts';
import { compareRevisions } from './compare-revisions.ts';
import type { KeyedObject } from './handler-event.ts';
import type { ObjectShape } from './object-shape.ts';
import { Reflector } from './reflector.ts';
import type { ReflectorParts, ReflectorSink } from './reflector.ts';

type Change<T extends ApiObject> = Exclude<WatchEvent<T>, { readonly type: 'BOOKMARK' | 'ERROR' }>;

/** The scope of one list and one watch: one namespace, or all namespaces. */
interface Scope {
  readonly namespace: string | undefined;
  revision: string;
  isListed: boolean;
}

export interface ListWatchBackingParts<T extends ApiObject> {
  /** The parts of every reflector. The backing adds the namespace that the reflector follows, unless it follows all. */
  readonly reflector: ReflectorParts<T>;
  /** The namespaces to follow. Undefined for all namespaces, which then need only one list and one watch. */
  readonly namespaces: readonly string[] | undefined;
  readonly shape: ObjectShape<T>;
}

/** A copy of the objects of a kind, kept up to date by lists and watches of any client. */
export class ListWatchBacking<T extends ApiObject> implements InformerBacking<T> {
  readonly #parts: ListWatchBackingParts<T>;
  readonly #scopes: readonly Scope[];
  readonly #objects = new Map<string, T>();

  constructor(parts: ListWatchBackingParts<T>) {
    this.#parts = parts;
    const { namespaces = [undefined] } = parts;
    this.#scopes = namespaces.map((namespace) => ({ namespace, revision: '0', isListed: false }));
  }

  /**
   * The revision that the list or the watch has reached. With several namespaces, it is the lowest of their revisions.
   */
  get revision(): string {
    return this.#scopes
      .map(({ revision }) => revision)
      .reduce((least, revision) => (compareRevisions(revision, least) < 0 ? revision : least));
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  objects(): Iterable<KeyedObject<T>> {
    const objects = [...this.#objects];
    return {
      *[Symbol.iterator]() {
        for (const [key, object] of objects) yield { key, object };
      },
    };
  }

  objectSteps(): Iterable<KeyedObject<T>> {
    return this.objects();
  }

  async follow(signal: AbortSignal, sink: BackingSink<T>): Promise<void> {
    for (const scope of this.#scopes) scope.isListed = false;
    await Promise.all(this.#scopes.map((scope) => this.#reflector(scope, sink).run(signal)));
  }

  #reflector(scope: Scope, sink: BackingSink<T>): Reflector<T> {
    const { reflector } = this.#parts;
    const { namespace } = scope;
    const selection = { ...reflector.selection, ...(namespace === undefined ? {} : { namespace }) };
    const reflected: ReflectorSink<T> = {
      replace: (items, revision) => this.#replace(scope, { items, revision }, sink),
      apply: (change) => this.#apply(scope, change, sink),
      advance: (revision) => {
        scope.revision = revision;
      },
    };
    return new Reflector({ ...reflector, selection }, reflected);
  }

  #replace(
    scope: Scope,
    { items, revision }: { readonly items: readonly T[]; readonly revision: string },
    sink: BackingSink<T>,
  ): void {
    const listed = new Set<string>();
    for (const object of items) {
      listed.add(formatKey(keyOf(object)));
      this.#put(object, sink);
    }
    for (const [key, object] of this.#objects) {
      if (!listed.has(key) && isIn(scope, object)) this.#drop({ key, object }, sink);
    }
    scope.revision = revision;
    scope.isListed = true;
    if (this.#scopes.every(({ isListed }) => isListed)) sink.open();
  }

  #apply(scope: Scope, { type, object }: Change<T>, sink: BackingSink<T>): void {
    scope.revision = object.metadata.resourceVersion;
    if (type !== 'DELETED') this.#put(object, sink);
    else this.#drop({ key: formatKey(keyOf(object)), object: this.#parts.shape(object) }, sink);
  }

  #put(whole: T, sink: BackingSink<T>): void {
    const key = formatKey(keyOf(whole));
    const previous = this.#objects.get(key);
    // The cache has this state already, so nothing changes.
    if (previous !== undefined && isSameState(previous, whole)) return undefined;
    const object = this.#parts.shape(whole);
    this.#objects.set(key, object);
    if (previous === undefined) return sink.added({ key, object });
    if (previous.metadata.uid === object.metadata.uid) return sink.updated({ key, object: previous }, { key, object });
    // The object was deleted and created again between two lists: `whole` is a new object of the same name, not a new
    // state of the old object.
    sink.deleted({ key, object: previous });
    return sink.added({ key, object });
  }

  #drop(last: KeyedObject<T>, sink: BackingSink<T>): void {
    if (this.#objects.delete(last.key)) sink.deleted(last);
  }
}

function isIn({ namespace }: Scope, object: ApiObject): boolean {
  return namespace === undefined || namespace === object.metadata.namespace;
}

function isSameState(a: ApiObject, b: ApiObject): boolean {
  return a.metadata.resourceVersion === b.metadata.resourceVersion && a.metadata.uid === b.metadata.uid;
}
