/** A user, as reviews and audit entries show it. Kubernetes' `UserInfo` (authentication.k8s.io/v1). */
export interface UserInfo {
  readonly username: string;
  /** Distinguishes two users who had the same name at different times. */
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
  /**
   * Returns false once the credential of this request has expired or was revoked: watches and streams that it opened
   * then end. Called every two seconds, so it must be cheap. Absent for credentials that do not end. Reviews do not
   * show it.
   */
  readonly isValid?: () => boolean;
}

/** The group whose members may do everything. No role can take this from them. */
export const mastersGroup = 'system:masters';

/** The group of every user whose identity is known. */
export const authenticatedGroup = 'system:authenticated';

/** The user of every request to a server in the mode `open`. */
export const developer: UserInfo = { username: 'developer', groups: [mastersGroup, authenticatedGroup] };

/** The owner of the administrator's token. */
export const administrator: UserInfo = { username: 'admin', groups: [mastersGroup, authenticatedGroup] };

/** The user of the program that runs the server, as Kubernetes names its own client. */
export const service: UserInfo = { username: 'system:apiserver', groups: [mastersGroup, authenticatedGroup] };

/** The user of requests without a credential, on servers that accept them. */
export const anonymous: UserInfo = { username: 'system:anonymous', groups: ['system:unauthenticated'] };

/** Returns the user as a member of `system:authenticated`. */
export function authenticated(user: UserInfo): UserInfo {
  if (user.groups.includes(authenticatedGroup)) return user;
  return { ...user, groups: [...user.groups, authenticatedGroup] };
}

/**
 * Returns true for a text that may name a user or a group: characters that are not visible would let one name look like
 * another, in the audit log and in bindings.
 */
export function isVisibleName(text: string): boolean {
  return text.length > 0 && !/\p{C}/u.test(text);
}
