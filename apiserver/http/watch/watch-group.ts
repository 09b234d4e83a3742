import type { ChangeFeed } from '../../index/change-feed.ts';
import type { Flushable, FlushCycle } from './flush-cycle.ts';
import type { FrameFormat } from './watch-frames.ts';

/** A watcher in a {@link WatchGroup}: a group of watchers that receive the same bytes. */
export interface GroupMember {
  /** Sends the next events, unless the client has not read the previous ones yet. */
  send(): void;
}

/** The properties that the watchers of a group have in common. */
export interface GroupParts {
  /** The kind, in one version. */
  readonly resource: { readonly feed: ChangeFeed };
  readonly format: FrameFormat;
  readonly selection: { readonly key: string };
}

interface GroupOwner {
  readonly flushes: FlushCycle;
  readonly feed: ChangeFeed;
  readonly onEmpty: () => void;
}

/**
 * Watchers that receive the same events. A change wakes the group once, and not each watcher. The group writes to its
 * watchers in rotation: each pass begins after the watcher to which the previous pass wrote last. When a change comes
 * during a pass, the remaining watchers receive it in this pass. The watchers to which the pass has already written
 * receive it in the next pass.
 */
export class WatchGroup implements Flushable {
  readonly #owner: GroupOwner;
  readonly #members = new Set<GroupMember>();
  #order = this.#members.values();
  /** The number of watchers that may lack the latest change. They come next in the rotation. */
  #due = 0;
  /** The number of watchers to which the current pass over this group still has to write; 0 between two passes. */
  #left = 0;
  #isQueued = false;
  readonly #unsubscribe: () => void;

  constructor(owner: GroupOwner) {
    this.#owner = owner;
    this.#unsubscribe = owner.feed.subscribe(() => this.#wake());
  }

  add(member: GroupMember): void {
    this.#members.add(member);
    // The group still has to write to the next `#due` watchers of the rotation. The new watcher joins at the end. After
    // it, the rotation starts again with the first watcher, which may still be due. So `#due` counts the new watcher
    // too: otherwise the last of the due watchers might not get the change.
    if (this.#due > 0) this.#due += 1;
  }

  /** Removes a watcher. After the last watcher, the group ends. */
  delete(member: GroupMember): void {
    this.#members.delete(member);
    this.#due = Math.min(this.#due, this.#members.size);
    this.#left = Math.min(this.#left, this.#due);
    if (this.#members.size > 0) return;
    this.#unsubscribe();
    this.#owner.onEmpty();
  }

  flush(): boolean {
    if (this.#left === 0) this.#left = this.#due;
    if (this.#left > 0) {
      this.#left -= 1;
      this.#due -= 1;
      this.#nextMember()?.send();
    }
    if (this.#left > 0) return true;
    this.#isQueued = this.#due > 0;
    // Some watchers lack changes that came after this pass had written to them. The next pass writes to them again.
    if (this.#isQueued) this.#owner.flushes.add(this);
    return false;
  }

  #wake(): void {
    this.#due = this.#members.size;
    if (this.#isQueued) return;
    this.#isQueued = true;
    this.#owner.flushes.add(this);
  }

  #nextMember(): GroupMember | undefined {
    const next = this.#order.next();
    if (next.done !== true) return next.value;
    this.#order = this.#members.values();
    return this.#order.next().value;
  }
}

/** Puts watchers into groups: a group has all watchers of a version of a kind with the same format and selection. */
export class WatchGroups {
  readonly #flushes: FlushCycle;
  readonly #groups = new WeakMap<GroupParts['resource'], WeakMap<FrameFormat, Map<string, WatchGroup>>>();

  constructor(flushes: FlushCycle) {
    this.#flushes = flushes;
  }

  /** Adds a watcher to its group. When the watcher ends, the caller must delete it from the group. */
  join(member: GroupMember, { resource, format, selection: { key } }: GroupParts): WatchGroup {
    const byFormat = this.#groups.get(resource) ?? new WeakMap<FrameFormat, Map<string, WatchGroup>>();
    this.#groups.set(resource, byFormat);
    const byKey = byFormat.get(format) ?? new Map<string, WatchGroup>();
    byFormat.set(format, byKey);
    const { feed } = resource;
    const group =
      byKey.get(key) ?? new WatchGroup({ flushes: this.#flushes, feed, onEmpty: () => void byKey.delete(key) });
    byKey.set(key, group);
    group.add(member);
    return group;
  }
}
