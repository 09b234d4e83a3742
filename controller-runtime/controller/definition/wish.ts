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
   * Ids of wishes that must be ready before this object is created or changed. When the objects are no longer wished,
   * this object is deleted before theirs. Default: none.
   */
  readonly after?: readonly string[];
  /**
   * A type of condition, which must be True for the present generation of the object; or a function that returns true
   * when the object is ready. Default: the rule that kstatus (the library of Flux, kpt and Helm) has for objects of any
   * kind. The object is ready when it is not being deleted, `status.observedGeneration` is absent or equal to its
   * generation, `Ready` is absent or True for its generation, and neither `Reconciling` nor `Stalled` is True. By this
   * rule an object without conditions is ready, so name the condition if the object's controller sets it only some time
   * after the creation.
   */
  readonly ready?: string | ((this: void, object: O) => boolean);
  /**
   * True to take over an object of this name that has no controller owner. Default false: such an object is an error.
   */
  readonly adopt?: boolean;
}

/** An object that a controller wants to exist. It is frozen, and made by {@link wish}. */
export interface Wish<O extends ApiObject = ApiObject> {
  readonly id: string;
  readonly model: ModelDescriptor<O>;
  readonly object: AppliedObject<O>;
  readonly after: readonly string[];
  readonly adopt: boolean;
  isReady(this: void, object: O): boolean;
}

/** The result of a wish. */
export interface WishState<O extends ApiObject = ApiObject> {
  readonly id: string;
  /**
   * `waiting` means that the wish waits for other wishes that are not ready, or for the deletion of an object of this
   * name; `waitsFor` names what it waits for.
   */
  readonly state: 'created' | 'updated' | 'unchanged' | 'waiting';
  /** True when the object is ready, as defined by the wish's `ready`. */
  readonly ready: boolean;
  /** The newest known state; absent when the object does not exist. */
  readonly object?: O;
  readonly waitsFor?: readonly string[];
  /** The fields that would change; present only with `dryRun`. */
  readonly changes?: readonly FieldChange[];
}

export interface OwnOptions {
  /** True to write nothing, and only return what would change. Default false. */
  readonly dryRun?: boolean;
}

export interface OwnResult<W extends readonly Wish[] = readonly Wish[]> {
  /** True when all wishes are ready, and nothing waits. */
  readonly ready: boolean;
  /** The state of each wish, in the order of the wishes. */
  readonly states: { readonly [K in keyof W]: W[K] extends Wish<infer O> ? WishState<O> : never };
  /** Objects that this call deleted, or would delete, because they are no longer wished. */
  readonly pruned: readonly ApiObject[];
  /**
   * Objects that are no longer wished but still exist: they have finalizers, or wait for the deletion of objects that
   * were created after them. Another run follows when they are deleted.
   */
  readonly leaving: readonly ApiObject[];
}

const wishKeys: readonly string[] = ['id', 'after', 'ready', 'adopt'] satisfies readonly (keyof WishOptions)[];

/**
 * Declares an object for `own`: the fields that it should have, by server-side apply. Its metadata needs only the name:
 * the run adds the owner, and the namespace of the owner if it has one. Throws TypeError for an object without a name
 * and for an unknown option.
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
function isSettled(object: ApiObject): boolean {
  const { metadata, status } = object as Observed;
  if (metadata.deletionTimestamp !== undefined) return false;
  if ((status?.observedGeneration ?? metadata.generation) !== metadata.generation) return false;
  const { conditions = [] } = status ?? {};
  if (conditions.some(({ type, status: value }) => value === 'True' && unsettled.has(type))) return false;
  return isTrue(object, 'Ready') ?? true;
}

const unsettled: ReadonlySet<string> = new Set(['Reconciling', 'Stalled']);

/**
 * Returns true when a condition is True for the present generation; undefined when there is no such condition. A
 * condition that observed an older generation says nothing about the present spec.
 */
function isTrue(object: ApiObject, type: string): boolean | undefined {
  const { metadata, status } = object as Observed;
  const condition = status?.conditions?.find((each) => each.type === type);
  if (condition === undefined) return undefined;
  const { observedGeneration = metadata.generation } = condition;
  return condition.status === 'True' && observedGeneration === metadata.generation;
}
