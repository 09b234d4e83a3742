import type { GroupVersionKind } from '../api/index.ts';
import type { QueueSizes } from '../queue/key-state.ts';

/** The current state of a controller of a manager. */
export interface ControllerStatus {
  readonly name: string;
  /** The kind that the controller reconciles. */
  readonly model: GroupVersionKind;
  /** The number of keys in each state of the queue; all 0 before the controller is started. */
  readonly sizes: QueueSizes;
  /**
   * The shards that this process reconciles, and the number of all shards. Absent for a controller that is not sharded.
   */
  readonly shards?: { readonly held: readonly number[]; readonly of: number };
  /**
   * The reason why the controller can no longer reconcile keys: runs that do not end occupy all of its workers. Absent
   * while it can.
   */
  readonly problem?: string;
}
