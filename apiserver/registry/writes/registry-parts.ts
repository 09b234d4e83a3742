import type { ApiObject, Clock, LeaderEpoch, Logger } from '@homeostat/controller-runtime/api';
import type { MountedHooks } from '../../admission/call-hook.ts';
import type { MemoryLimit } from '../../limits/memory-limit.ts';
import type { GroupCommit } from '../../store/group-commit.ts';
import type { RequiredClaim } from '../../store/store.ts';
import type { CreationRule } from '../kinds/live-claim.ts';
import type { Resource } from '../kinds/resource.ts';
import type { RecentWriters, Revisions } from '../history/revisions.ts';
import type { Entry } from '../../index/entry.ts';
import type { Proposal } from '../rules/proposal.ts';
import type { WriteOptions, WritingUser } from './write-options.ts';
import type { WriteTurns } from './write-turns.ts';

export interface RegistryParts {
  readonly commits: GroupCommit;
  readonly revisions: Revisions;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a random number from 0 to below 1, for generated names. */
  readonly random: () => number;
  readonly uuid: () => string;
  readonly memory: Readonly<Pick<MemoryLimit, 'isFull' | 'refuse'>>;
  readonly serviceDomain: string;
  /** Remembers the users of the last writes. Default: users are not remembered. */
  readonly writers?: RecentWriters;
  /**
   * Called when another process has changed the kind's unique indexes. Resolves when this process may write to the kind
   * again.
   */
  readonly onOldGeneration: (resource: Resource) => Promise<void>;
  readonly leaders: LeaderRules;
  /** The rules by which a creation depends on its namespace, or on the definition of its kind. Default none. */
  readonly creationRules?: readonly CreationRule[];
  /** The guards of writes. Default none: every user may write everything. */
  readonly guards?: readonly WriteGuard[];
  /**
   * Commits users' writes to the kinds that a {@link WriteGuard} covers, such as roles, one after the other, and lets
   * the guards check each write again just before its commit. Default: the guards check a write only when the write
   * is planned.
   */
  readonly turns?: WriteTurns;
  /**
   * Counts a new object in the quotas of its namespace before it is created; returns undefined when no quota counts it.
   * Default: no quotas.
   */
  readonly reserve?: (resource: Resource, object: ApiObject) => Promise<Reservation> | undefined;
  /** The hooks of all kinds. Default none. */
  readonly hooks?: Hooks;
  /** Lets webhooks and policies review writes. Default: no reviews. */
  readonly review?: WriteReview;
}

/** A write that webhooks and policies review. */
export interface ReviewedWrite {
  readonly verb: Proposal['verb'];
  /** The resource in the version of the request. */
  readonly resource: Resource;
  /** The entry that is changed or deleted; undefined for a creation. */
  readonly stored: Entry | undefined;
  readonly options: WriteOptions;
  /** The warnings of the response. Webhooks and policies add their own warnings to this list. */
  readonly warnings: string[];
}

/**
 * Lets webhooks and policies review writes, after the hooks of plugins. A review may take long, so the lock of the
 * object is not held meanwhile.
 */
export interface WriteReview {
  /** Returns true while any webhook or any binding of a policy is stored. Most servers have neither. */
  readonly isConfigured: () => boolean;
  /** Returns true when webhooks and policies may review writes of this kind. */
  covers(resource: Resource): boolean;
  /**
   * Returns the proposed object with the changes of webhooks. @throws ApiError when a webhook refuses the write, or
   * when the call of a webhook with `failurePolicy: Fail` fails
   */
  change(object: ApiObject, write: ReviewedWrite): Promise<ApiObject>;
  /**
   * Checks the final object. `object` is undefined for a deletion. @throws ApiError when a webhook or a policy refuses
   * the write, or when the call of a webhook with `failurePolicy: Fail` fails
   */
  check(object: ApiObject | undefined, write: ReviewedWrite): Promise<void>;
}

/** The admission hooks of plugins. */
interface Hooks {
  /** True while no kind has hooks, as in most servers. */
  readonly isEmpty: boolean;
  /**
   * Returns the hooks for the kind with this key prefix, in the order of their calls; undefined when there are none.
   */
  hooksOf(keyPrefix: string): readonly MountedHooks[] | undefined;
}

/** A write that a {@link WriteGuard} checks: the registry's rules have accepted the write, but it is not committed. */
export interface GuardedWrite {
  /** The user of the write; undefined for the server itself. */
  readonly user: WritingUser | undefined;
  readonly next: ApiObject;
  /** The stored object; undefined when there is none, or when it cannot be read. */
  readonly stored: ApiObject | undefined;
}

/** Refuses writes because of their content and their user. */
export interface WriteGuard {
  /**
   * Returns true for kinds whose writes depend on other objects. Before such a write is decided, memory must have all
   * acknowledged writes of other processes. The result must not change while a kind is served.
   */
  covers(resource: Resource): boolean;
  /**
   * Checks a write of a kind for which {@link covers} returns true. For a removal, `next` is the stored object. @throws
   * ApiError when the user may not make this write
   */
  check(resource: Resource, write: GuardedWrite): void;
}

/** A new object that the quotas of its namespace count before it is created. */
export interface Reservation {
  /** The claims that the creation must require because of the quotas. */
  readonly requires: readonly RequiredClaim[];
  /**
   * Ends the reservation. Called once, when the creation has succeeded or failed: then the quotas count the stored
   * object itself, or count nothing if the object was not created.
   */
  readonly release: (isCreated: boolean) => void;
}

export interface LeaderRules {
  /** Returns the claim that a leader's Lease holds during the leader's term. */
  readonly claimOf: (leader: LeaderEpoch) => RequiredClaim;
  /** Returns true when the Lease in memory has this holder and this term. */
  readonly isLeading: (leader: LeaderEpoch) => boolean;
}
