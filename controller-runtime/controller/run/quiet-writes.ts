import { formatKey } from '../../api/index.ts';
import type { ApiObject } from '../../api/index.ts';
import type { FollowedKind } from '../definition/followed-kind.ts';
import { kindIdOf } from '../definition/kind-id.ts';
import type { Target } from './cache-view.ts';
import { OwnRevisions } from './own-revisions.ts';

/**
 * Remembers the controller's own writes for each source with `ignoreOwnWrites`, so that the source ignores the events
 * of these writes. Each source has an {@link OwnRevisions} of its own, which forgets a write when the source has
 * received the event of this write. Other sources may receive the event later.
 */
export class QuietWrites {
  readonly #sources = new Map<FollowedKind, OwnRevisions>();

  /** The number of events that wait for the response to a write. */
  get undecided(): number {
    let count = 0;
    for (const { undecided } of this.#sources.values()) count += undecided;
    return count;
  }

  /**
   * Adds a source. Returns the {@link OwnRevisions} in which the controller's own writes are remembered for this
   * source, by the keys of {@link formatKey}.
   */
  add(source: FollowedKind): OwnRevisions {
    const revisions = new OwnRevisions();
    this.#sources.set(source, revisions);
    return revisions;
  }

  remove(source: FollowedKind): void {
    this.#sources.delete(source);
  }

  /** Sends a write of the object, and remembers the revision that the write created. */
  write<R extends ApiObject | undefined>({ kindId, key }: Target, send: () => Promise<R>): Promise<R> {
    let sendAll = send;
    for (const [{ model }, revisions] of this.#sources) {
      if (kindIdOf(model) !== kindId) continue;
      const sendInner = sendAll;
      sendAll = () => revisions.write(formatKey(key), sendInner, (result) => result?.metadata.resourceVersion);
    }
    return sendAll();
  }
}
