import {
  apiVersionOf,
  parseKey,
  recordedChanges,
  type ApiObject,
  type ModelDescriptor,
  type NewObject,
  type NamedObject,
  type Run,
  type RunTrigger,
  type RunWrite,
} from '../../api/index.ts';
import { nextTurn } from '../../clock/next-turn.ts';
import type { RunRecord } from '../observe/run-history.ts';
import type { LoggedWrite, WriteLog } from '../run/write-log.ts';
import type { Reason } from '../../queue/reason.ts';
import { recordedError } from './recorded-error.ts';

/** A run that has ended, and the object that the run reconciled. */
export interface ReportedRun {
  /** The controller, as `<name of the manager>/<controller>`. */
  readonly controller: string;
  readonly model: ModelDescriptor;
  readonly record: RunRecord;
  readonly waitMs: number;
  /** The error with which the run failed. */
  readonly error: unknown;
  /** The object at the start of the run; undefined when it did not exist. */
  readonly object: ApiObject | undefined;
  readonly writes: WriteLog | undefined;
  /** The time at which the key is due, in milliseconds since 1970; undefined when the key is not delayed. */
  readonly nextTime: number | undefined;
  /**
   * The number of runs of the controller that were not recorded since the last record. The next record contains this
   * number.
   */
  readonly counter: { unrecorded: number };
}

/** The maximum number of characters of JSON for all changes of a run; further changes are only counted. */
const maxChangesLength = 32 * 1024;

/**
 * The namespace of the records for runs of Cluster-scoped objects. The events of these objects are in the same
 * namespace.
 */
const clusterNamespace = 'default';

/**
 * Returns the record of a run. Compares the states before and after each write; each comparison is made in a separate
 * turn of the event loop.
 */
export async function runObject(
  run: ReportedRun,
  isSecret: (object: ApiObject) => boolean,
): Promise<NewObject<Run> & { readonly metadata: { readonly name: string; readonly namespace: string } }> {
  const { record, writes, counter } = run;
  const { unrecorded } = counter;
  counter.unrecorded = 0;
  const { namespace = clusterNamespace } = parseKey(record.key);
  const written = writes === undefined ? [] : await recordedWrites(writes.writes, isSecret);
  return {
    metadata: { name: record.reconcileID, namespace },
    controller: run.controller,
    object: subjectOf(run),
    triggers: record.reasons.map(triggerOf),
    attempt: record.attempts + 1,
    waitMs: rounded(run.waitMs),
    startTime: new Date(record.startTime).toISOString(),
    durationMs: rounded(record.durationMs),
    result: record.result,
    ...(run.error === undefined ? {} : { error: recordedError(run.error) }),
    ...(written.length === 0 ? {} : { writes: written }),
    ...(writes === undefined || writes.omitted === 0 ? {} : { omittedWrites: writes.omitted }),
    ...(run.nextTime === undefined ? {} : { nextTime: new Date(run.nextTime).toISOString() }),
    ...(unrecorded === 0 ? {} : { unrecorded }),
  };
}

/** Rounds a number of milliseconds to whole microseconds. */
function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

function subjectOf({ model, record, object }: ReportedRun): Run['object'] {
  const { name, namespace } = parseKey(record.key);
  const key = {
    apiVersion: apiVersionOf(model),
    kind: model.kind,
    ...(namespace === undefined ? {} : { namespace }),
    name,
  };
  if (object === undefined) return key;
  const { uid, resourceVersion, generation } = object.metadata;
  return { ...key, uid, resourceVersion, generation };
}

function triggerOf({ type, detail, resourceVersion, manager }: Reason): RunTrigger {
  return {
    type,
    ...(detail === undefined ? {} : { detail }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(manager === undefined ? {} : { manager }),
  };
}

async function recordedWrites(
  writes: readonly LoggedWrite[],
  isSecret: (object: ApiObject) => boolean,
): Promise<readonly RunWrite[]> {
  const recorded: RunWrite[] = [];
  let length = 0;
  for (const [index, write] of writes.entries()) {
    // A comparison of the largest objects takes milliseconds, so other work gets a turn between two comparisons.
    if (index > 0) await nextTurn();
    const full = recordedWrite(write, isSecret);
    length += full.changes === undefined ? 0 : JSON.stringify(full.changes).length;
    recorded.push(length > maxChangesLength ? withoutChanges(full) : full);
  }
  return recorded;
}

function recordedWrite(write: LoggedWrite, isSecret: (object: ApiObject) => boolean): RunWrite {
  const { call, subresource, before, after, isFollowed, error } = write;
  const base = {
    verb: verbOf(call.verb),
    ...(subresource === undefined ? {} : { subresource }),
    object: writtenObject(write),
  };
  if (error !== undefined) return { ...base, error: recordedError(error).message };
  if (after === undefined) return base;
  const { resourceVersion } = after.metadata;
  if (!isFollowed && call.verb !== 'create') return { ...base, resourceVersion };
  const changed = before?.metadata.resourceVersion !== resourceVersion;
  if (!changed) return { ...base, resourceVersion, changed };
  const { changes, omitted } = recordedChanges(before, after, isSecret);
  return { ...base, resourceVersion, changed, changes, ...(omitted === 0 ? {} : { omittedChanges: omitted }) };
}

function withoutChanges({ changes = [], omittedChanges = 0, ...write }: RunWrite): RunWrite {
  return { ...write, omittedChanges: omittedChanges + changes.length };
}

/**
 * Returns the verb that the record of a write names. `ensure` sends a create or an update. It is not known which, so
 * the record has `update`.
 */
function verbOf(verb: LoggedWrite['call']['verb']): string {
  if (verb === 'updateStatus') return 'update';
  return verb === 'ensure' ? 'update' : verb;
}

function writtenObject({ target, after, before }: LoggedWrite): NamedObject {
  const { cacheId, key } = target;
  const slash = cacheId.lastIndexOf('/');
  const uid = (after ?? before)?.metadata.uid;
  return {
    apiVersion: cacheId.slice(0, slash),
    kind: cacheId.slice(slash + 1),
    ...(key.namespace === undefined ? {} : { namespace: key.namespace }),
    name: after?.metadata.name ?? key.name,
    ...(uid === undefined ? {} : { uid }),
  };
}
