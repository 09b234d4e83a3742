import { deepEqual, setCondition, type ApiObject, type Condition, type ModelDescriptor } from '../../api/index.ts';
import type { EventRecorder, EventType } from '../../events/event-recorder.ts';
import type { ConditionReason } from '../definition/reconciler.ts';
import { hasStatusField } from './status-schema.ts';

/** A condition that the run sets, or a summary of other conditions; a summary is computed when it is written. */
type Stated =
  Pick<Condition, 'type' | 'status' | 'reason' | 'message'> | { readonly type: string; readonly of: readonly string[] };

export interface RunConditionsParts {
  readonly model: ModelDescriptor;
  /** The object that the run received. Its generation becomes the observedGeneration of the conditions. */
  readonly object: ApiObject;
  readonly recorder: EventRecorder;
  /** Returns the current time (RFC 3339). */
  readonly now: () => string;
}

const reasonPattern = /^[A-Za-z](?:[A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;
const statuses: readonly string[] = ['True', 'False', 'Unknown'];

/** Collects the conditions that one run sets, until they are written, and the events of their transitions. */
export class RunConditions {
  readonly #parts: RunConditionsParts;
  readonly #stated = new Map<string, Stated>();
  readonly #eventTypes = new Map<string, EventType>();
  #isWritten = true;

  constructor(parts: RunConditionsParts) {
    this.#parts = parts;
  }

  /** True while a condition that the run has set is not written yet. */
  get isPending(): boolean {
    return !this.#isWritten;
  }

  state(type: string, status: Condition['status'], { reason, message = '' }: ConditionReason): void {
    if (!statuses.includes(status)) {
      throw new TypeError(
        `condition ${type}: the status must be "True", "False" or "Unknown", not ${JSON.stringify(status)}`,
      );
    }
    if (!reasonPattern.test(reason)) {
      throw new TypeError(`condition ${type}: the reason must be one CamelCase word, not ${JSON.stringify(reason)}`);
    }
    this.#add({ type, status, reason, message });
  }

  summarise(type: string, of: readonly string[]): void {
    if (of.length === 0)
      throw new TypeError(`condition ${type}: a summary needs the type of at least one other condition`);
    this.#add({ type, of });
  }

  recordTransition(eventType: EventType, type: string): void {
    if (!this.#stated.has(type)) {
      throw new TypeError(
        `event.onTransition: this run has not set the condition ${JSON.stringify(type)}: call condition() first`,
      );
    }
    this.#eventTypes.set(type, eventType);
  }

  /**
   * Returns the list with the conditions that the run has set. The given list is not changed; an absent list counts as
   * empty.
   */
  appliedTo(present: readonly Condition[] | undefined): readonly Condition[] {
    const { generation: observedGeneration } = this.#parts.object.metadata;
    const all = [...this.#stated.values()];
    let conditions = present ?? [];
    // A summary is computed after all other conditions, even those that were set after the summary.
    for (const stated of [...all.filter((each) => !('of' in each)), ...all.filter((each) => 'of' in each)]) {
      const found = 'of' in stated ? summaryOf(stated.type, stated.of, conditions) : stated;
      const now = this.#parts.now();
      conditions = setCondition(conditions, { ...found, observedGeneration }, now);
    }
    return conditions;
  }

  /**
   * Records the events that the run requested with `event.onTransition`, for conditions whose status in `after` differs
   * from that in `before`. Call it after the write.
   */
  written(before: readonly Condition[] | undefined, after: readonly Condition[]): void {
    this.#isWritten = true;
    for (const [type, eventType] of this.#eventTypes) {
      const { status: previous } = before?.find((each) => each.type === type) ?? {};
      const condition = after.find((each) => each.type === type);
      if (condition === undefined || condition.status === previous) continue;
      this.#eventTypes.delete(type);
      this.#parts.recorder.event(this.#parts.object, eventType, condition.reason, condition.message);
    }
  }

  #add(stated: Stated): void {
    const { model } = this.#parts;
    if (!hasStatusField(model, 'conditions')) {
      throw new TypeError(
        `${model.kind} has no status.conditions: add "conditions: conditionsSchema" to the schema of its status`,
      );
    }
    if (!('of' in stated) && deepEqual(this.#stated.get(stated.type), stated)) return;
    // The entry is moved to the end: when a summary is set again, it must be computed after the summaries that were set
    // before it, because it may summarize them.
    this.#stated.delete(stated.type);
    this.#stated.set(stated.type, stated);
    this.#isWritten = false;
  }
}

/**
 * Returns a condition that is True if all of the given conditions are True, False if any of them is False, and
 * otherwise Unknown. Its reason is that of the first condition that is False, or else of the first one that is Unknown
 * or absent.
 */
function summaryOf(
  type: string,
  of: readonly string[],
  conditions: readonly Condition[],
): Pick<Condition, 'type' | 'status' | 'reason' | 'message'> {
  const parts = of.map((each) => ({ each, condition: conditions.find((condition) => condition.type === each) }));
  const worst =
    parts.find(({ condition }) => condition?.status === 'False') ??
    parts.find(({ condition }) => condition?.status !== 'True');
  if (worst === undefined) return { type, status: 'True', reason: 'Ready', message: '' };
  const { each, condition } = worst;
  if (condition === undefined)
    return { type, status: 'Unknown', reason: 'NotStated', message: `condition ${each} is not set yet` };
  const { status, reason, message } = condition;
  return { type, status, reason, message: message === '' ? each : `${each}: ${message}` };
}
