/** A user in the form that reviews and audit entries show: Kubernetes' `UserInfo` (authentication.k8s.io/v1). */
export interface UserInfo {
  readonly username: string;
  /** An id that distinguishes users who had the same name at different times. */
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
  /**
   * Returns false once the credential of the request has expired or was revoked. For an open watch or stream, it is
   * called every two seconds, so it must be fast; once it returns false, the watch or stream ends. If it is absent, the
   * request is authenticated again instead. Reviews do not show this function.
   */
  readonly isValid?: () => boolean;
}

/** The group whose members may do everything, whatever roles they have. */
export const mastersGroup = 'system:masters';

/** The group of which every authenticated user is a member. */
export const authenticatedGroup = 'system:authenticated';

/** The user of every request to a server in the mode `open`. */
export const developer: UserInfo = { username: 'developer', groups: [mastersGroup, authenticatedGroup] };

/** The owner of the administrator's token. */
export const administrator: UserInfo = { username: 'admin', groups: [mastersGroup, authenticatedGroup] };

/** The user of the program in which the server runs. Kubernetes' API server uses this name for its own requests. */
export const service: UserInfo = { username: 'system:apiserver', groups: [mastersGroup, authenticatedGroup] };

/** The user of requests without a credential, on servers that accept them. */
export const anonymous: UserInfo = { username: 'system:anonymous', groups: ['system:unauthenticated'] };

/** Returns the user as a member of `system:authenticated`. */
export function authenticated(user: UserInfo): UserInfo {
  if (user.groups.includes(authenticatedGroup)) return user;
  return { ...user, groups: [...user.groups, authenticatedGroup] };
}

/**
 * Returns true for a text that may be the name of a user or a group. Invisible characters are not allowed, because with
 * them one name could look like another in the audit log and in bindings.
 */
export function isVisibleName(text: string): boolean {
  return text.length > 0 && !/\p{C}/u.test(text);
}
