import type { ApiObject } from '../../api/index.ts';
import type { AnyWriteOptions, WriteCall } from '../../client/forwarding-client.ts';
import type { Target } from './cache-view.ts';

/**
 * A write of a run, with its request and its result. It refers to the objects in the cache, and has no copies of them.
 */
export interface LoggedWrite {
  readonly call: WriteCall;
  readonly subresource: string | undefined;
  readonly target: Target;
  /**
   * The state of the object that the controller knew before the write; undefined when the object did not exist, or the
   * controller does not follow its kind.
   */
  readonly before: ApiObject | undefined;
  /** True when the controller follows the kind, so that an undefined `before` means that the object did not exist. */
  readonly isFollowed: boolean;
  /** The resulting state; undefined when the object was deleted, or the write failed. */
  readonly after: ApiObject | undefined;
  readonly error?: unknown;
}

/** The maximum number of writes in the record of a run. The first writes are kept. */
const maxWrites = 32;

/** The writes of a run. */
export class WriteLog {
  readonly writes: LoggedWrite[] = [];
  #count = 0;

  /** The number of writes that are not kept. */
  get omitted(): number {
    return this.#count - this.writes.length;
  }

  add(write: LoggedWrite): void {
    this.#count += 1;
    if (this.writes.length < maxWrites) this.writes.push(write);
  }
}

/** The subresource that a write changes. */
export function subresourceOf(call: WriteCall, options: AnyWriteOptions | undefined): string | undefined {
  return call.verb === 'updateStatus' ? 'status' : options?.subresource;
}
