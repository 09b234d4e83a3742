import type { ApiObject, Clock, FieldCause, LeaderEpoch, Logger } from '@homeostat/controller-runtime/api';
import type { MountedHooks } from '../admission/call-hook.ts';
import type { PropagationPolicy } from '../index/propagation.ts';
import type { GroupCommit } from '../store/group-commit.ts';
import type { RequiredClaim } from '../store/store.ts';
import type { Writer } from './label-keys.ts';
import type { Resource } from './resource.ts';
import type { Revisions } from './revisions.ts';
import type { Subresource } from './write-request.ts';

export interface WriteOptions {
  readonly dryRun?: boolean;
  readonly fieldValidation?: 'Ignore' | 'Warn' | 'Strict';
  readonly subresource?: Subresource;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  /** Of a deletion. Default what the object's finalizers say, or Background. */
  readonly propagationPolicy?: PropagationPolicy;
  /** Decides which label keys may be written. Default `user`. */
  readonly writer?: Writer;
  /** Who writes, as metadata.managedFields has it. Default `unknown`. */
  readonly fieldManager?: string;
  /** The registry fills this list with the warnings of the write, also when it refuses the write. Default: only the result has them. */
  readonly warnings?: string[];
  /** As which leader: the commit is refused (409, FormerLeader) unless that holds its lease then. Default none. */
  readonly leader?: LeaderEpoch;
}

export interface ApplyOptions extends WriteOptions {
  readonly fieldManager: string;
  /** Take fields that others own instead of a 409. */
  readonly force?: boolean;
  /** Leave them as they are instead; told which. */
  readonly onContested?: (contested: readonly FieldCause[]) => void;
}

export interface CreateOptions extends WriteOptions {
  /** From the path; Namespaced kinds only. */
  readonly namespace?: string;
}

/** Gives the request's object, a fresh one at each call: the rules work in place, and a lost race decides anew. */
export type BodySource = () => unknown;

export type PatchBody =
  { readonly type: 'json'; readonly operations: unknown } | { readonly type: 'merge'; readonly patch: unknown };

export interface RegistryOptions {
  readonly commits: GroupCommit;
  readonly revisions: Revisions;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Uniform in [0, 1); for generated names. */
  readonly random: () => number;
  readonly uuid: () => string;
  readonly serviceDomain: string;
  /** Told of each change when it is visible: its revision, and the bytes that history keeps for it. */
  readonly onCommit: (revision: number, bytes: number) => void;
  /** Another process has set the kind's unique indexes anew. Resolves when the kind may be written to all the same. */
  readonly onOldGeneration: (resource: Resource) => Promise<void>;
  /** The claim that a leader's lease has in its term. */
  readonly leaderClaim: (leader: LeaderEpoch) => RequiredClaim;
  /** Throws ApiError when an object may not be created where it wants to be. Default: every one may. */
  readonly admit?: (resource: Resource, object: ApiObject) => void;
  /** Those that have a say in writes of the kind with this prefix of keys, in order. Default: none have. */
  readonly hooksOf?: (keyPrefix: string) => readonly MountedHooks[] | undefined;
}
