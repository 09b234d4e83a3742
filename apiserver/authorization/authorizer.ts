import type { UserInfo } from '../identity/user-info.ts';
import type { Attributes } from './attributes.ts';
import type { PolicyRule } from '../builtin/objects/rbac-objects.ts';

export interface Decision {
  readonly allowed: boolean;
  /**
   * The reason why the request is allowed, for reviews and audit entries: the binding and the role, or the membership
   * in `system:masters`. Empty for a request that is not allowed.
   */
  readonly reason: string;
}

/** Decides whether a user may do something. The decision takes microseconds, because all roles are in memory. */
export interface Authorizer {
  decide(user: UserInfo, attributes: Attributes): Decision;
  /**
   * Returns the rules that a user has in a namespace, without duplicates. If `namespace` is undefined, returns the
   * rules for the whole cluster.
   */
  rulesFor(user: UserInfo, namespace: string | undefined): readonly PolicyRule[];
  /**
   * Returns a promise that resolves when memory has all writes that any replica has acknowledged so far. A decision
   * about this user that depends on these writes must wait for the promise. Returns undefined when memory is never
   * behind, or when no write can change the decision. Requests that wait at the same time share one query to the
   * database.
   */
  reach(user: UserInfo): Promise<void> | undefined;
  /** Calls the listener after each change of the permissions of users. Returns a function that removes the listener. */
  onChange(listener: () => void): () => void;
}
