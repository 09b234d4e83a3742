import {
  ApiError,
  descriptorOf,
  nearestKey,
  parseFieldSelector,
  parseLabelSelector,
  unknownKeyOf,
  type ApiObject,
  type Model,
  type ModelDescriptor,
  type ObjectKey,
} from '../../api/index.ts';
import type { Client } from '../../client/client.ts';
import type { InformerOptions } from '../../client/informer.ts';
import { cacheIdOf } from './kind-id.ts';
import type { Predicate } from './predicates.ts';

/**
 * A key with a priority. Keys with a higher priority run first. Keys of changed objects have priority 0, and keys of
 * objects that exist at the start have −100.
 */
export interface PrioritizedKey {
  readonly key: string | ObjectKey;
  readonly priority: number;
}

/** Keys of objects to reconcile: names, `namespace/name`, key objects, or any of these with a priority. */
export type MappedKeys = Iterable<string | ObjectKey | PrioritizedKey>;

/** The context of a mapping. */
export interface MapContext {
  /** A client for reads. It cannot be used after the mapping has ended. */
  readonly client: Client;
  /** Aborts when the mapping takes longer than the controller's `timeoutMs`, and when the controller stops. */
  readonly signal: AbortSignal;
}

/**
 * A function that returns keys of the controller's own kind: those of the objects to reconcile because another object
 * has changed. For an update, it is called twice: with the state before, and with the state after. When it throws, or
 * takes longer than the controller's `timeoutMs`, it is called again after the controller's `backoff`, until it
 * succeeds. If 10,000 changed objects already wait for such a retry, the failed event is dropped, and an error is
 * logged. At most `concurrency` mappings run at once. The function may be called several times for one state.
 */
export type MapFunction<T extends ApiObject = ApiObject> = {
  map(object: T, context: MapContext): MappedKeys | Promise<MappedKeys>;
}['map'];

/**
 * The options of a kind that a controller follows: the objects to follow, the fields that the cache keeps, and the
 * changes that cause runs.
 */
export interface FollowOptions<T extends ApiObject = ApiObject> extends InformerOptions<T> {
  /**
   * The updates that cause runs: those for which all predicates are true. Additions and deletions always cause runs.
   * Default: every update.
   */
  readonly predicates?: readonly Predicate<T>[];
  /** True to ignore updates that this controller itself wrote. Default false. */
  readonly ignoreOwnWrites?: boolean;
  /**
   * The names of indexes that `related` reads. The model has to declare these indexes. Each index takes about 100 bytes
   * for each object. Default: none.
   */
  readonly indexes?: readonly string[];
}

/** A kind that a controller follows: its own kind, one that it owns, or one that it watches. */
export interface FollowedKind {
  readonly model: ModelDescriptor;
  readonly follows: Readonly<InformerOptions>;
  readonly predicates: readonly Predicate[];
  readonly ignoreOwnWrites: boolean;
  readonly indexes: readonly string[];
}

/** An item of `owns`, made by {@link owned}: a kind whose objects the controller creates. */
export interface OwnedSource extends FollowedKind {
  readonly map?: undefined;
}

/** An item of `watches`, made by {@link on}: another kind that the controller follows. */
export interface WatchSource extends FollowedKind {
  readonly map: MapFunction;
}

/**
 * Makes an item of `watches`: each change of an object of another kind enqueues the keys that `map` returns.
 * @throws TypeError for an unknown option or a predicate that is not a function, RangeError for an index that the model
 * does not declare, ApiError BadRequest for an invalid selector.
 */
export function on<T extends ApiObject>(
  model: Model<T>,
  map: MapFunction<T>,
  options: FollowOptions<T> = {},
): WatchSource {
  return Object.freeze({ ...followedKind(model, options), map });
}

/**
 * Makes an item of `owns` with options, so that the controller follows only some of the objects, fields or changes of
 * the owned kind. Throws the errors of {@link on}.
 */
export function owned<T extends ApiObject>(model: Model<T>, options: FollowOptions<T> = {}): OwnedSource {
  return Object.freeze(followedKind(model, options));
}

const optionKeys: readonly string[] = [
  'namespaces',
  'labelSelector',
  'fieldSelector',
  'metadataOnly',
  'transform',
  'predicates',
  'ignoreOwnWrites',
  'indexes',
] satisfies readonly (keyof FollowOptions)[];

function followedKind<T extends ApiObject>(model: Model<T>, options: FollowOptions<T>): FollowedKind {
  const descriptor = descriptorOf(model);
  const { kind } = descriptor;
  const unknown = unknownKeyOf(options, optionKeys);
  if (unknown !== undefined) throw new TypeError(`the options for ${kind} have an ${unknown}`);
  const { predicates = [], ignoreOwnWrites = false, indexes = [], ...follows } = options as FollowOptions;
  for (const [index, predicate] of predicates.entries()) {
    if (typeof predicate !== 'function')
      throw new TypeError(`options for ${kind}: predicates[${index}] is not a function`);
  }
  checkIndexes(descriptor, indexes);
  checkSelectors(kind, follows);
  return { model: descriptor, follows, predicates, ignoreOwnWrites, indexes };
}

/** Throws RangeError for an index that the model does not declare. */
export function checkIndexes({ kind, indexes }: ModelDescriptor, names: readonly string[]): void {
  const known = indexes.map(({ name }) => name);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new RangeError(unknownIndex(kind, unknown, known));
}

function unknownIndex(kind: string, name: string, known: readonly string[]): string {
  const near = nearestKey(name, known);
  const cure = known.length === 0 ? 'it declares none' : `its indexes are ${known.join(', ')}`;
  const hint = near === undefined ? cure : `did you mean "${near}"?`;
  return `${kind} declares no index ${JSON.stringify(name)}: ${hint}`;
}

function checkSelectors(kind: string, { labelSelector = '', fieldSelector = '' }: InformerOptions): void {
  try {
    parseLabelSelector(labelSelector);
    parseFieldSelector(fieldSelector);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new ApiError('BadRequest', `options for ${kind}: ${message}`, { cause: error });
  }
}

const transforms = new WeakMap<object, number>();
let lastTransform = 0;

/**
 * Returns the id of the cache of a followed kind. Sources of the same kind and version with equal selections share a
 * cache. Without a selection, the id is the cache id of the kind.
 */
export function followIdOf({ model, follows }: Pick<FollowedKind, 'model' | 'follows'>): string {
  const cacheId = cacheIdOf(model);
  const { namespaces, labelSelector = '', fieldSelector = '', metadataOnly = false, transform } = follows;
  const parts = [namespaces?.toSorted() ?? null, labelSelector, fieldSelector, metadataOnly, numberOf(transform)];
  const isWhole = JSON.stringify(parts) === '[null,"","",false,0]';
  return isWhole ? cacheId : `${cacheId} ${JSON.stringify(parts)}`;
}

function numberOf(transform: object | undefined): number {
  if (transform === undefined) return 0;
  const number = transforms.get(transform) ?? (lastTransform += 1);
  transforms.set(transform, number);
  return number;
}

/** True when the cache of a followed kind keeps all fields of the objects. */
export function hasWholeObjects({ metadataOnly, transform }: InformerOptions): boolean {
  return metadataOnly !== true && transform === undefined;
}
