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
 * The effect of a change of the controller's own kind: a run; none; or a run unless the controller itself wrote the
 * changed status (or finalizers).
 */
export type OwnEventVerdict = 'run' | 'none' | 'unlessOwnStatus' | 'unlessOwnFinalizers';

/** Fields that each write of an object changes. */
const writtenEachTime: ReadonlySet<string> = new Set(['resourceVersion', 'version', 'managedFields']);

const specOrLabels: Predicate = or(generationChanged, labelsChanged, otherAnnotationsChanged);

/** The rule for events of the controller's own kind; `predicates` replace the default rule. */
export function judgeOwnEvent(change: ObjectChange, predicates: readonly Predicate[] | undefined): OwnEventVerdict {
  const { previous, object } = change;
  if (previous === undefined || isResync(previous, object) || isOtherLife(previous, object)) return 'run';
  // When a person asks for a run, or resumes an object, every controller of the kind runs it. Predicates do not count then.
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

/** True for an object that was declared deleted, or deleted and created again: such changes pass all predicates. */
function isOtherLife(previous: ApiObject, object: ApiObject): boolean {
  return (
    previous.metadata.uid !== object.metadata.uid ||
    previous.metadata.deletionTimestamp !== object.metadata.deletionTimestamp
  );
}

/**
 * True when annotations other than the records of schedules changed. Those records change with each slot of a schedule,
 * which needs no run.
 */
function otherAnnotationsChanged(change: ObjectChange): boolean {
  const { previous, object } = change;
  if (previous === undefined || !annotationsChanged(change)) return false;
  return !deepEqual(annotationsWithoutSlots(previous), annotationsWithoutSlots(object));
}

/** True when only the records of schedules changed. */
function isOfSlots(previous: ApiObject, object: ApiObject): boolean {
  const before = previous.metadata.annotations;
  const after = object.metadata.annotations;
  return !deepEqual(before, after) && deepEqual(withoutSlots(previous), withoutSlots(object));
}

function withoutSlots(object: ApiObject): unknown {
  const rest = Object.entries(object.metadata).filter(([field]) => !writtenEachTime.has(field));
  return { ...object, metadata: { ...Object.fromEntries(rest), annotations: annotationsWithoutSlots(object) } };
}
