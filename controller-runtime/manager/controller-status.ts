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
   * A message that names the keys of runs that have exceeded their timeout and have not ended. Present only while such
   * runs occupy all workers of the controller, so that it can reconcile no other key.
   */
  readonly problem?: string;
}
