import type { ApiObject } from '../../api/index.ts';
import type { AnyWriteOptions, WriteCall } from '../../client/forwarding-client.ts';
import type { Target } from './cache-view.ts';

/** A write of a run, with its request and its result. Holds the objects themselves, which the cache shares. */
export interface LoggedWrite {
  readonly call: WriteCall;
  readonly subresource: string | undefined;
  readonly target: Target;
  /**
   * The state that the controller knew before; undefined when it was absent, or of a kind that the controller does not
   * follow.
   */
  readonly before: ApiObject | undefined;
  /** False when `before` is not known. */
  readonly isFollowed: boolean;
  /** Undefined: deleted, or failed. */
  readonly after: ApiObject | undefined;
  readonly error?: unknown;
}

/** The first writes of a run, for its record. */
const maxWrites = 32;

/** The writes of a run. */
export class WriteLog {
  readonly writes: LoggedWrite[] = [];
  #count = 0;

  /** Writes beyond the first. */
  get omitted(): number {
    return this.#count - this.writes.length;
  }

  add(write: LoggedWrite): void {
    this.#count += 1;
    if (this.writes.length < maxWrites) this.writes.push(write);
  }
}

/** The subresource that a write addresses. */
export function subresourceOf(call: WriteCall, options: AnyWriteOptions | undefined): string | undefined {
  return call.verb === 'updateStatus' ? 'status' : options?.subresource;
}
