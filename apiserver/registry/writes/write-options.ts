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
  /** The values that the stored object must have, so that a deletion or a patch succeeds (409 otherwise). */
  readonly preconditions?: Preconditions | undefined;
  /**
   * The effect of a deletion on dependents. Default: the policy that the object's finalizers request, otherwise
   * Background.
   */
  readonly propagationPolicy?: PropagationPolicy | undefined;
  /** The user who writes. Default: the server itself, which may write everything. */
  readonly user?: WritingUser | undefined;
  /** The user that webhooks see when {@link user} is absent. Default: the server itself. */
  readonly author?: WritingUser | undefined;
  /**
   * The sort of author (a client, a plugin or the service), which decides which label keys are allowed. Default `user`:
   * a client.
   */
  readonly writer?: Writer | undefined;
  /** The name of the field manager that the write has in metadata.managedFields. Default `unknown`. */
  readonly fieldManager?: string | undefined;
  /**
   * A list that the registry empties, and to which it adds the warnings of the write, even when the write is refused.
   * Default: only the result has the warnings.
   */
  readonly warnings?: string[] | undefined;
  /**
   * Called with each annotation that a review adds to the audit entry of the write. Default: annotations are dropped.
   */
  readonly annotate?: ((key: string, value: string) => void) | undefined;
  /**
   * True for a write with which the server maintains its own objects. Neither webhooks nor policies review such a
   * write, and it is accepted while memory is full. Default false.
   */
  readonly isOwnUpkeep?: boolean | undefined;
  /**
   * The leader that writes; default none. If the leader no longer holds its Lease at the time of the commit, the commit
   * is refused (409, FormerLeader).
   */
  readonly leader?: LeaderEpoch | undefined;
}

export interface ApplyOptions extends WriteOptions {
  readonly fieldManager: string;
  /**
   * True: if the apply changes the value of a field that another manager owns, the other manager loses the field.
   * Otherwise, an apply that changes such a value causes a 409.
   */
  readonly force?: boolean | undefined;
  /**
   * When this function is given, fields with other owners keep their values, and cause no 409. It is called with all
   * such fields.
   */
  readonly onContested?: ((contested: readonly FieldCause[]) => void) | undefined;
  /**
   * Called before an apply creates an object. Throws for a user who may patch, but not create. Default: every user may
   * create.
   */
  readonly checkCreate?: (() => void) | undefined;
}

export interface CreateOptions extends WriteOptions {
  /** The namespace in the path; only for Namespaced kinds. */
  readonly namespace?: string | undefined;
}

export type PatchBody = (
  { readonly type: 'json'; readonly operations: unknown } | { readonly type: 'merge'; readonly patch: unknown }
) & {
  /** True for a body that takes long to parse, as in `BodySource`. */
  readonly isLarge?: boolean;
};
