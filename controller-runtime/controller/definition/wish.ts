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
  /** Names the wish in `after` and in messages. Default `<Kind>/<name>`. */
  readonly id?: string;
  /**
   * Ids of wishes that must be ready before this object is created or changed. When it is no longer wished, it is gone before
   * theirs are deleted. Default none.
   */
  readonly after?: readonly string[];
  /**
   * A type of condition, which must be True for the present generation of the object; or a function that returns true when the object
   * is ready. Default, as kstatus (the library of Flux, kpt and Helm) judges objects of any kind: it is not being deleted, `status.observedGeneration` is
   * absent or its generation, `Ready` is True for its generation or absent, and neither `Reconciling` nor `Stalled` is
   * True. So name the condition if its controller sets it only some time after the creation.
   */
  readonly ready?: string | ((this: void, object: O) => boolean);
  /** Takes over an object of this name that has no controller owner. Default false: such an object is an error. */
  readonly adopt?: boolean;
}

/** An object that a controller wants to exist. Made by {@link wish}. Frozen. */
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
   * `waiting` means that it waits for wishes that are not ready, or for the deletion of an object of this name;
   * `waitsFor` names them.
   */
  readonly state: 'created' | 'updated' | 'unchanged' | 'waiting';
  /** True when the object is ready, as defined by the wish's `ready`. */
  readonly ready: boolean;
  /** The newest known state; absent when the object does not exist. */
  readonly object?: O;
  readonly waitsFor?: readonly string[];
  /** Fields that a dry run would change. Absent unless `dryRun`. */
  readonly changes?: readonly FieldChange[];
}

export interface OwnOptions {
  /** Writes nothing, and returns what would change. Default false. */
  readonly dryRun?: boolean;
}

export interface OwnResult<W extends readonly Wish[] = readonly Wish[]> {
  /** All wishes are ready, and nothing waits. */
  readonly ready: boolean;
  /** The state of each wish, in the order of the wishes. */
  readonly states: { readonly [K in keyof W]: W[K] extends Wish<infer O> ? WishState<O> : never };
  /** Objects that this call deleted, or would delete, because they are no longer wished. */
  readonly pruned: readonly ApiObject[];
  /**
   * Objects that are no longer wished but still exist: they have finalizers, or wait for the deletion of objects that were
   * created after them. When they are gone, another run follows.
   */
  readonly leaving: readonly ApiObject[];
}

const wishKeys: readonly string[] = ['id', 'after', 'ready', 'adopt'] satisfies readonly (keyof WishOptions)[];

/**
 * Declares an object for `own`: the fields that it should have, by server-side apply. Its metadata needs only the
 * name: the owner comes from the run, and so does the namespace, unless the owner has none. Throws TypeError for an
 * object without a name and for an unknown option.
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

/** The rules that kstatus (sigs.k8s.io/cli-utils) has for objects of kinds that it does not know. */
function isSettled(object: ApiObject): boolean {
  const { metadata, status } = object as Observed;
  if (metadata.deletionTimestamp !== undefined) return false;
  if ((status?.observedGeneration ?? metadata.generation) !== metadata.generation) return false;
  const { conditions = [] } = status ?? {};
  if (conditions.some(({ type, status: value }) => value === 'True' && unsettled.has(type))) return false;
  return isTrue(object, 'Ready') ?? true;
}

const unsettled: ReadonlySet<string> = new Set(['Reconciling', 'Stalled']);

/** Undefined without such a condition. One that observed an older generation says nothing about the present spec. */
function isTrue(object: ApiObject, type: string): boolean | undefined {
  const { metadata, status } = object as Observed;
  const condition = status?.conditions?.find((each) => each.type === type);
  if (condition === undefined) return undefined;
  const { observedGeneration = metadata.generation } = condition;
  return condition.status === 'True' && observedGeneration === metadata.generation;
}
