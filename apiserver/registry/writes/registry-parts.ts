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
  /** Keeps the users of the last writes. Without it, no users are kept. */
  readonly writers?: RecentWriters;
  /** Called when another process has changed the kind's unique indexes. Resolves when this process may write to the kind again. */
  readonly onOldGeneration: (resource: Resource) => Promise<void>;
  readonly leaders: LeaderRules;
  /** Default none. */
  readonly creationRules?: readonly CreationRule[];
  /** Default none: every user may write everything. */
  readonly guards?: readonly WriteGuard[];
  /** The turns of the writes that guards check. Without it, writes are checked once, when they are planned. */
  readonly turns?: WriteTurns;
  /**
   * Reserves a place for a new object in the quotas of its namespace, if it has one; returns undefined when no quota
   * counts it. Default: no quotas.
   */
  readonly reserve?: (resource: Resource, object: ApiObject) => Promise<Reservation> | undefined;
  /** The hooks of all kinds. By default, there are none. */
  readonly hooks?: Hooks;
  /** Lets webhooks review writes. Default: none. */
  readonly review?: WriteReview;
}

/** A write that webhooks review. */
export interface ReviewedWrite {
  readonly verb: Proposal['verb'];
  /** The resource in the version of the request. */
  readonly resource: Resource;
  /** The entry that is changed or deleted; undefined for a creation. */
  readonly stored: Entry | undefined;
  readonly options: WriteOptions;
  /** The warnings of the response; reviews add theirs. */
  readonly warnings: string[];
}

/** Lets webhooks review writes, after the hooks of plugins. This may take long, so no lock is held meanwhile. */
export interface WriteReview {
  /** True while a webhook or a policy is stored at all; in most servers there is none. */
  readonly isConfigured: () => boolean;
  /** True when a webhook may review writes of this kind. */
  covers(resource: Resource): boolean;
  /** Returns the proposed object as webhooks changed it. @throws ApiError when one of them refuses the write, or does not respond */
  change(object: ApiObject, write: ReviewedWrite): Promise<ApiObject>;
  /** Called with the final object, or with undefined for a deletion. @throws ApiError as {@link change} */
  check(object: ApiObject | undefined, write: ReviewedWrite): Promise<void>;
}

/** The hooks of plugins. */
interface Hooks {
  /** True while no kind has hooks, as in most servers. */
  readonly isEmpty: boolean;
  /** Returns the hooks for writes of the kind with this key prefix, in order; undefined for none. */
  hooksOf(keyPrefix: string): readonly MountedHooks[] | undefined;
}

/** A write that rules have accepted, before it is committed. */
export interface GuardedWrite {
  /** The user of the write; undefined for the server itself. */
  readonly user: WritingUser | undefined;
  readonly next: ApiObject;
  /** undefined when there is no object yet, or none that can be read. */
  readonly stored: ApiObject | undefined;
}

/** Refuses writes by their content and by their user. */
export interface WriteGuard {
  /**
   * True for kinds whose writes depend on other objects: before a decision, memory must then have what other
   * processes have written. The result stays the same while a kind is served.
   */
  covers(resource: Resource): boolean;
  /** Called for each write of a covered kind; for a removal, `next` is the stored object. @throws ApiError when the user may not write that */
  check(resource: Resource, write: GuardedWrite): void;
}

/** A place in the quotas of a namespace. */
export interface Reservation {
  /** The claims that the creation requires, in addition to others. */
  readonly requires: readonly RequiredClaim[];
  /** Gives the place back; called once, when the object is stored and counted itself, or is not created. */
  readonly release: (isCreated: boolean) => void;
}

export interface LeaderRules {
  /** The claim that a leader's lease has during its term. */
  readonly claimOf: (leader: LeaderEpoch) => RequiredClaim;
  /** True when, according to memory, the lease is held in this term. */
  readonly isLeading: (leader: LeaderEpoch) => boolean;
}
