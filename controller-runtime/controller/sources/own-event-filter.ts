import { actionBetween, deepEqual, type ApiObject } from '../../api/index.ts';
import {
  annotationsChanged,
  generationChanged,
  labelsChanged,
  or,
  type ObjectChange,
  type Predicate,
} from '../definition/predicates.ts';
import { annotationsWithoutSlots } from '../run/slot-record.ts';

/**
 * The effect of a change of the controller's own kind: a run, no run, or a run unless the controller itself wrote the
 * changed status (or finalizers).
 */
export type OwnEventVerdict = 'run' | 'none' | 'unlessOwnStatus' | 'unlessOwnFinalizers';

/** The fields of metadata that the server sets at each write of an object. */
const writtenEachTime: ReadonlySet<string> = new Set(['resourceVersion', 'version', 'managedFields']);

const specOrLabels: Predicate = or(generationChanged, labelsChanged, otherAnnotationsChanged);

/**
 * Returns the effect of an event of the controller's own kind. Additions, deletions and resyncs always cause a run, and
 * so do annotations that request a run, or pause or resume the object. Updates that change only the annotations of
 * schedules never cause a run. All other updates are decided by `predicates`. Without `predicates`, a change of the
 * spec, labels or annotations causes a run; so does a change of the status or finalizers by another client.
 */
export function judgeOwnEvent(change: ObjectChange, predicates: readonly Predicate[] | undefined): OwnEventVerdict {
  const { previous, object } = change;
  if (previous === undefined || isResync(previous, object) || isOtherLife(previous, object)) return 'run';
  // When a user requests a run, or pauses or resumes an object, every controller of the kind enqueues the
  // object, whatever its predicates return. While the object is paused, its runs do not call the author's code.
  if (actionBetween(previous, object) !== undefined) return 'run';
  if (isOfSlots(previous, object)) return 'none';
  if (predicates !== undefined) return predicates.every((predicate) => predicate(change)) ? 'run' : 'none';
  if (specOrLabels(change)) return 'run';
  const sameStatus = deepEqual(Reflect.get(previous, 'status'), Reflect.get(object, 'status'));
  const sameFinalizers = deepEqual(previous.metadata.finalizers ?? [], object.metadata.finalizers ?? []);
  if (sameStatus) return sameFinalizers ? 'none' : 'unlessOwnFinalizers';
  return sameFinalizers ? 'unlessOwnStatus' : 'run';
}

/** True for an update whose resourceVersion did not change: a periodic resync. */
export function isResync(previous: ApiObject, object: ApiObject): boolean {
  return previous.metadata.resourceVersion === object.metadata.resourceVersion;
}

/**
 * True when the deletion of the object has begun with this change, or when the object was deleted and created again.
 * Predicates do not apply to such changes.
 */
function isOtherLife(previous: ApiObject, object: ApiObject): boolean {
  return (
    previous.metadata.uid !== object.metadata.uid ||
    previous.metadata.deletionTimestamp !== object.metadata.deletionTimestamp
  );
}

/**
 * True when annotations other than those of schedules have changed. The annotations of a schedule change with each of
 * its slots, and these changes need no run.
 */
function otherAnnotationsChanged(change: ObjectChange): boolean {
  const { previous, object } = change;
  if (previous === undefined || !annotationsChanged(change)) return false;
  return !deepEqual(annotationsWithoutSlots(previous), annotationsWithoutSlots(object));
}

/** True when only the annotations of schedules have changed. */
function isOfSlots(previous: ApiObject, object: ApiObject): boolean {
  const before = previous.metadata.annotations;
  const after = object.metadata.annotations;
  return !deepEqual(before, after) && deepEqual(withoutSlots(previous), withoutSlots(object));
}

function withoutSlots(object: ApiObject): unknown {
  const rest = Object.entries(object.metadata).filter(([field]) => !writtenEachTime.has(field));
  return { ...object, metadata: { ...Object.fromEntries(rest), annotations: annotationsWithoutSlots(object) } };
}
