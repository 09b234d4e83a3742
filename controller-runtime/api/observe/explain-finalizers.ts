import { formatKey, keyOf } from '../object/object.ts';
import type { ApiObject } from '../object/object.ts';
import { isPaused } from './actions.ts';
import type { ControllerObject } from './controller-state.ts';
import type { ExplainedFinalizer } from './explanation.ts';
import { failureOf, isFailing } from './key-failure.ts';

/** The finalizers that the server itself has to remove. */
const ownFinalizers: ReadonlyMap<string, string> = new Map([
  ['foregroundDeletion', 'the server first deletes the objects that this object owns and that block its deletion.'],
  ['orphan', 'the server first removes this object from the ownerReferences of the objects that it owns.'],
  ['kubernetes', 'the server first deletes the objects in the namespace.'],
]);

export interface KnownFinalizers {
  readonly object: ApiObject;
  /**
   * The objects that describe controllers. A sharded controller has one such object for each shard; here is only the
   * one for the shard to which `object` belongs. Undefined when the user may not read controllers.
   */
  readonly controllers: readonly ControllerObject[] | undefined;
  readonly nowMs: number;
}

/**
 * Returns each finalizer of an object with the controller that has to remove it, and the reason why the finalizer is
 * still present.
 */
export function explainFinalizers({ object, controllers, nowMs }: KnownFinalizers): readonly ExplainedFinalizer[] {
  return (object.metadata.finalizers ?? []).map((name) => {
    const own = ownFinalizers.get(name);
    if (own !== undefined) return { name, message: own };
    const owing = controllers?.find(({ spec }) => spec.finalizer === name);
    if (owing !== undefined) return { name, controller: owing.spec.controller, message: whyOf(object, owing, nowMs) };
    if (controllers === undefined)
      return { name, message: 'a controller may have to remove the finalizer, but you may not read controllers.' };
    return {
      name,
      message:
        'no controller that this server knows removes the finalizer; if no other program does, remove it by hand.',
    };
  });
}

function whyOf(object: ApiObject, { spec, status }: ControllerObject, nowMs: number): string {
  const { controller } = spec;
  const isDeleted = object.metadata.deletionTimestamp !== undefined;
  if (status?.running !== true) return `${controller} has to remove the finalizer, but is not running.`;
  if (!isDeleted) return `${controller} removes the finalizer once the object is marked for deletion.`;
  const name = controller.slice(controller.lastIndexOf('/') + 1);
  if (isPaused(object, name)) return `${controller} has to remove the finalizer, but the object is paused.`;
  const key = status.keys.find((each) => each.key === formatKey(keyOf(object)));
  if (isFailing(key)) return `the cleanup by ${controller} has failed${failureOf(key, nowMs)}.`;
  if (key?.state === 'processing') return `${controller} is cleaning up.`;
  if (key !== undefined) return `${controller} has to remove the finalizer; the object is in its queue (${key.state}).`;
  return `${controller} has to remove the finalizer, but its last report does not list the object: the report may be older than the deletion, and omits some keys of a long queue.`;
}
