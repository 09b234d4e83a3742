import type { UserInfo } from '../identity/user-info.ts';
import type { Attributes } from './attributes.ts';
import type { PolicyRule } from '../builtin/objects/rbac-objects.ts';

export interface Decision {
  readonly allowed: boolean;
  /**
   * The rule that decided, in words; it is part of reviews and audit entries. Empty when no rule allows the request.
   */
  readonly reason: string;
}

/** Decides from memory, in microseconds. */
export interface Authorizer {
  decide(user: UserInfo, attributes: Attributes): Decision;
  /**
   * Returns the rules that a user has in a namespace, each once; with `namespace` undefined, those for the whole
   * cluster.
   */
  rulesFor(user: UserInfo, namespace: string | undefined): readonly PolicyRule[];
  /**
   * Returns a promise that resolves when memory has all writes that any replica has acknowledged so far, for decisions
   * about this user that must know them; undefined when memory is never behind. Requests that wait at the same time
   * share one query to the database.
   */
  reach(user: UserInfo): Promise<void> | undefined;
  /** Calls the listener after each change of what users may do; returns a function that ends this. */
  onChange(listener: () => void): () => void;
}
