import {
  descriptorOf,
  unknownKeyOf,
  type ApiObject,
  type Condition,
  type FieldChange,
  type Model,
  type ModelDescriptor,
} from '../../api/index.ts';
import type { AppliedObject } from '../../client/client.ts';

export interface WishOptions<O extends ApiObject = ApiObject> {
  /** The id of the wish, for `after` and for messages. Default `<Kind>/<name>`. */
  readonly id?: string;
  /**
   * Ids of wishes that must be ready before this object is created or changed. When neither this object nor the objects
   * of those wishes are wished any longer, this object is deleted first. Default: none.
   */
  readonly after?: readonly string[];
  /**
   * Decides when the object is ready. The value is the type of a condition, which must be True for the current
   * generation of the object, or a function that returns true when the object is ready. Default: the rule of kstatus
   * (the library of Flux, kpt and Helm) for objects of any kind. The object is ready when it is not being deleted,
   * `status.observedGeneration` is absent or equal to its generation, `Ready` is absent or True for its generation, and
   * neither `Reconciling` nor `Stalled` is True. By this rule an object without conditions is ready, so name a
   * condition if the object's controller sets it only some time after the creation.
   */
  readonly ready?: string | ((this: void, object: O) => boolean);
  /**
   * True to take over an object of this name that has no controller owner. Default false: such an object causes an
   * error.
   */
  readonly adopt?: boolean;
}

/** A frozen declaration of an object that a controller wants to exist, made by {@link wish}. */
export interface Wish<O extends ApiObject = ApiObject> {
  readonly id: string;
  readonly model: ModelDescriptor<O>;
  readonly object: AppliedObject<O>;
  readonly after: readonly string[];
  readonly adopt: boolean;
  isReady(this: void, object: O): boolean;
}

/** The state of a wish after a call of `own`. */
export interface WishState<O extends ApiObject = ApiObject> {
  readonly id: string;
  /**
   * `waiting` means that the wish waits for other wishes that are not ready, or for the deletion of an object of this
   * name; `waitsFor` names them.
   */
  readonly state: 'created' | 'updated' | 'unchanged' | 'waiting';
  /** True when the object is ready, as defined by the wish's `ready`. Always false in the state `waiting`. */
  readonly ready: boolean;
  /**
   * The newest known state of the object after the call; absent when no such object exists then. With `dryRun`, this is
   * what the same call would return without `dryRun`.
   */
  readonly object?: O;
  readonly waitsFor?: readonly string[];
  /** The fields that would change; present only with `dryRun`. */
  readonly changes?: readonly FieldChange[];
}

export interface OwnOptions {
  /** True to write nothing, and only return the changes that would be made. Default false. */
  readonly dryRun?: boolean;
}

export interface OwnResult<W extends readonly Wish[] = readonly Wish[]> {
  /**
   * True when all wishes are ready. A wish in the state `waiting` is not ready. Objects that are no longer wished do
   * not count, even if they still exist.
   */
  readonly ready: boolean;
  /** The state of each wish, in the order of the wishes. */
  readonly states: { readonly [K in keyof W]: W[K] extends Wish<infer O> ? WishState<O> : never };
  /**
   * Objects that this call deleted, or with `dryRun` would delete, because they are no longer wished. A deleted object
   * that finalizers still keep is also in `leaving`.
   */
  readonly pruned: readonly ApiObject[];
  /**
   * Objects that are no longer wished but still exist, because they have finalizers, or because objects that were
   * created after them must be deleted first. When one of the objects in this list is deleted, another run follows.
   */
  readonly leaving: readonly ApiObject[];
}

const wishKeys: readonly string[] = ['id', 'after', 'ready', 'adopt'] satisfies readonly (keyof WishOptions)[];

/**
 * Declares an object for `own`: the fields that the run sets by server-side apply. The metadata needs only the name:
 * the run adds the owner reference, and the namespace of the owner if the owner has one. Throws TypeError for an object
 * without a name and for an unknown option.
 */
export function wish<O extends ApiObject>(
  model: Model<O>,
  object: AppliedObject<O>,
  options: WishOptions<O> = {},
): Wish<O> {
  const descriptor = descriptorOf(model);
  const { name } = object.metadata;
  if (typeof name !== 'string' || name === '')
    throw new TypeError(`wish(${descriptor.kind}): metadata.name is missing`);
  const { id = `${descriptor.kind}/${name}`, after = [], adopt = false, ready } = options;
  const unknown = unknownKeyOf(options, wishKeys);
  if (unknown !== undefined) throw new TypeError(`wish ${id}: ${unknown}`);
  return Object.freeze({ id, model: descriptor, object, after, adopt, isReady: readinessOf(ready) });
}

function readinessOf<O extends ApiObject>(ready: WishOptions<O>['ready']): Wish<O>['isReady'] {
  if (typeof ready === 'function') return ready;
  if (ready !== undefined) return (object) => isTrue(object, ready) === true;
  return isSettled;
}

interface Observed extends ApiObject {
  readonly status?: { readonly observedGeneration?: number | null; readonly conditions?: readonly Condition[] };
}

/**
 * Returns true for an object that is ready by the rules that kstatus (sigs.k8s.io/cli-utils) has for kinds that it does
 * not know.
 */
function isSettled(object: Observed): boolean {
  const { metadata, status } = object;
  if (metadata.deletionTimestamp !== undefined) return false;
  if ((status?.observedGeneration ?? metadata.generation) !== metadata.generation) return false;
  const { conditions = [] } = status ?? {};
  if (conditions.some(({ type, status: value }) => value === 'True' && unsettled.has(type))) return false;
  return isTrue(object, 'Ready') ?? true;
}

const unsettled: ReadonlySet<string> = new Set(['Reconciling', 'Stalled']);

/**
 * Returns true when the condition of this type is True for the current generation of the object; undefined when there
 * is no such condition. Returns false for a condition with an older observedGeneration, because it says nothing about
 * the current spec.
 */
function isTrue(object: Observed, type: string): boolean | undefined {
  const { metadata, status } = object;
  const condition = status?.conditions?.find((each) => each.type === type);
  if (condition === undefined) return undefined;
  const { observedGeneration = metadata.generation } = condition;
  return condition.status === 'True' && observedGeneration === metadata.generation;
}
