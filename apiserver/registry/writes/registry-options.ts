import type { ApiObject, Clock, LeaderEpoch, Logger } from '@homeostat/controller-runtime/api';
import type { MountedHooks } from '../../admission/call-hook.ts';
import type { GroupCommit } from '../../store/group-commit.ts';
import type { RequiredClaim } from '../../store/store.ts';
import type { Resource } from '../kinds/resource.ts';
import type { Revisions } from '../history/revisions.ts';

export interface RegistryOptions {
  readonly commits: GroupCommit;
  readonly revisions: Revisions;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Uniform in [0, 1); for generated names. */
  readonly random: () => number;
  readonly uuid: () => string;
  readonly serviceDomain: string;
  /** Called for each change once it is visible, with its revision and the bytes that history keeps for it. */
  readonly onCommit: (revision: number, bytes: number) => void;
  /** Called when another process has changed the kind's unique indexes. Resolves when this process may write to the kind again. */
  readonly onOldGeneration: (resource: Resource) => Promise<void>;
  readonly leaders: LeaderRules;
  /**
   * Returns the claims that the creation of an object requires: of its namespace, and of what declares its kind. Throws
   * ApiError when the object may not be created where it wants to be. Default: each one may, and requires nothing.
   */
  readonly requiredClaims?: (resource: Resource, object: ApiObject) => readonly RequiredClaim[];
  /** Those that have a say in writes of the kind with this prefix of keys, in order. Default: none have. */
  readonly hooksOf?: (keyPrefix: string) => readonly MountedHooks[] | undefined;
}

export interface LeaderRules {
  /** The claim that a leader's lease has in its term. */
  readonly claimOf: (leader: LeaderEpoch) => RequiredClaim;
  /** Whether the lease is held in this term, as memory has it. */
  readonly isLeading: (leader: LeaderEpoch) => boolean;
}
