import type { FieldCause, LeaderEpoch, Preconditions } from '@homeostat/controller-runtime/api';
import type { PropagationPolicy } from '../../index/propagation.ts';
import type { Writer } from '../object/label-keys.ts';
import type { Subresource } from '../rules/write-request.ts';

/** The authenticated user of the write. */
export interface WritingUser {
  readonly username: string;
  readonly groups: readonly string[];
  readonly uid?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface WriteOptions {
  readonly dryRun?: boolean | undefined;
  readonly fieldValidation?: 'Ignore' | 'Warn' | 'Strict' | undefined;
  readonly subresource?: Subresource | undefined;
  /** The values that the stored object must have for a deletion or a patch (409 otherwise). */
  readonly preconditions?: Preconditions | undefined;
  /**
   * The effect of a deletion on dependents. Default: the policy that the object's finalizers ask for, otherwise
   * Background.
   */
  readonly propagationPolicy?: PropagationPolicy | undefined;
  /** The user who writes. Default: the server itself, which may write everything. */
  readonly user?: WritingUser | undefined;
  /** The user that webhooks receive where {@link user} is absent. Default: the server itself. */
  readonly author?: WritingUser | undefined;
  /** Decides which label keys may be written. Default `user`. */
  readonly writer?: Writer | undefined;
  /** The field manager, as in metadata.managedFields. Default `unknown`. */
  readonly fieldManager?: string | undefined;
  /**
   * A list that the registry fills with the warnings of the write, also when the write is refused. Default: only the
   * result has them.
   */
  readonly warnings?: string[] | undefined;
  /**
   * Called with each annotation that a review adds to the audit entry of the write. Default: annotations are dropped.
   */
  readonly annotate?: ((key: string, value: string) => void) | undefined;
  /** True for writes by which the server keeps its own objects in order: no webhook reviews them. Default false. */
  readonly isOwnUpkeep?: boolean | undefined;
  /**
   * The leader that writes; default none. The commit is refused (409, FormerLeader) unless the leader still holds its
   * lease at that time.
   */
  readonly leader?: LeaderEpoch | undefined;
}

export interface ApplyOptions extends WriteOptions {
  readonly fieldManager: string;
  /** True: takes over the fields that have other owners. Otherwise such a field leads to a 409. */
  readonly force?: boolean | undefined;
  /** If given, a field that has another owner keeps its value, and there is no 409; called with all such fields. */
  readonly onContested?: ((contested: readonly FieldCause[]) => void) | undefined;
  /** Called before an absent object is created; it throws for a user who may only patch. Default: everybody may create. */
  readonly checkCreate?: (() => void) | undefined;
}

export interface CreateOptions extends WriteOptions {
  /** The namespace in the path; Namespaced kinds only. */
  readonly namespace?: string | undefined;
}

export type PatchBody = (
  { readonly type: 'json'; readonly operations: unknown } | { readonly type: 'merge'; readonly patch: unknown }
) & {
  /** True for a body whose parsing takes long, as in `BodySource`. */
  readonly isLarge?: boolean;
};
