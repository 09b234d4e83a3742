import { deepEqual, type ApiObject } from '../../api/index.ts';
import {
  annotationsChanged,
  generationChanged,
  labelsChanged,
  or,
  type ObjectChange,
  type Predicate,
} from '../definition/predicates.ts';

/**
 * What a change of the controller's own kind calls for: a run; none; or a run unless the controller itself wrote the
 * status (or the finalizers) that changed.
 */
export type OwnEventVerdict = 'run' | 'none' | 'unlessOwnStatus' | 'unlessOwnFinalizers';

const specOrLabels: Predicate = or(generationChanged, labelsChanged, annotationsChanged);

/** The rule for events of the controller's own kind; `predicates` stand in for the default. */
export function judgeOwnEvent(change: ObjectChange, predicates: readonly Predicate[] | undefined): OwnEventVerdict {
  const { previous, object } = change;
  if (previous === undefined || isResync(previous, object) || isOtherLife(previous, object)) return 'run';
  if (predicates !== undefined) return predicates.every((predicate) => predicate(change)) ? 'run' : 'none';
  if (specOrLabels(change)) return 'run';
  const sameStatus = deepEqual(Reflect.get(previous, 'status'), Reflect.get(object, 'status'));
  const sameFinalizers = deepEqual(previous.metadata.finalizers ?? [], object.metadata.finalizers ?? []);
  if (sameStatus) return sameFinalizers ? 'none' : 'unlessOwnFinalizers';
  return sameFinalizers ? 'unlessOwnStatus' : 'run';
}

/** An update whose resourceVersion did not change: nothing happened, the period was due. */
export function isResync(previous: ApiObject, object: ApiObject): boolean {
  return previous.metadata.resourceVersion === object.metadata.resourceVersion;
}

/** Declared deleted, or deleted and made again: whatever the predicates, the controller has to know. */
function isOtherLife(previous: ApiObject, object: ApiObject): boolean {
  return (
    previous.metadata.uid !== object.metadata.uid ||
    previous.metadata.deletionTimestamp !== object.metadata.deletionTimestamp
  );
}
