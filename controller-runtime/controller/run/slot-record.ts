import type { ApiObject } from '../../api/index.ts';
import { formatTime } from '../../clock/format-time.ts';
import { groupOf } from '../definition/kind-id.ts';

/** The stored state of an object's schedule. Times are in milliseconds since 1970. */
export interface SlotRecord {
  /** The text of the schedule to which the record belongs. */
  readonly schedule: string;
  /**
   * The last slot that a run has completed, or the time at which the schedule was first seen. Later runs are only for
   * slots after this time, and for the slot in `begun`.
   */
  readonly ended: number;
  /** The slot whose run has begun and not ended. */
  readonly begun?: { readonly slot: number; readonly reconcileID: string } | undefined;
}

type AnnotationNames = readonly [schedule: string, ended: string, begun: string];

const prefixes = ['schedule', 'slot-ended', 'slot-begun'] as const;

/**
 * Reads the state of an object's schedule from three annotations of the object, whose prefixes contain the group of the
 * kind. So the state is deleted with the object, needs no other object and no watch, and is visible to people. A run
 * finds the annotations in the cache, from which it reads the object anyway. Returns undefined if the annotations do
 * not have the expected form.
 */
export function readSlotRecord({ metadata }: ApiObject, manager: string): SlotRecord | undefined {
  const [schedule, ended, begun] = namesOf(manager).map((name) => metadata.annotations?.[name]);
  const endedMs = Date.parse(ended ?? '');
  if (schedule === undefined || Number.isNaN(endedMs)) return undefined;
  const [slot = '', reconcileID = ''] = begun?.split(' ') ?? [];
  const slotMs = Date.parse(slot);
  return { schedule, ended: endedMs, begun: Number.isNaN(slotMs) ? undefined : { slot: slotMs, reconcileID } };
}

/**
 * Returns the annotations in which an object stores the record of its schedule, for a merge patch of the object. If the
 * record is undefined, the patch removes these annotations.
 */
export function slotAnnotations(record: SlotRecord | undefined, manager: string): Record<string, string | null> {
  const [schedule, ended, begun] = namesOf(manager);
  return {
    [schedule]: record?.schedule ?? null,
    [ended]: record === undefined ? null : formatTime(record.ended),
    [begun]: record?.begun === undefined ? null : `${formatTime(record.begun.slot)} ${record.begun.reconcileID}`,
  };
}

/**
 * Returns the annotations of an object without those of schedules, because a change of a schedule's annotations causes
 * no run.
 */
export function annotationsWithoutSlots({ apiVersion, metadata }: ApiObject): Readonly<Record<string, string>> {
  const group = groupOf(apiVersion);
  const starts = prefixes.map((prefix) => (group === '' ? `${prefix}/` : `${prefix}.${group}/`));
  const isOther = ([name]: readonly [string, string]): boolean => !starts.some((start) => name.startsWith(start));
  return Object.fromEntries(Object.entries(metadata.annotations ?? {}).filter(isOther));
}

/**
 * Returns the names of the three annotations that store the {@link SlotRecord} of an object. `manager` is
 * `<group>/<controller>`, or only the controller for a kind of the core group.
 */
function namesOf(manager: string): AnnotationNames {
  const rest = manager.includes('/') ? `.${manager}` : `/${manager}`;
  const [schedule, ended, begun] = prefixes;
  return [`${schedule}${rest}`, `${ended}${rest}`, `${begun}${rest}`];
}
