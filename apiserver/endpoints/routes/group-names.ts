/** Returns the group of endpoints for the admin console: `console.api.<group>` (specification, section 4.3). */
export function consoleGroup(group: string): string {
  return `console.api.${group}`;
}

/**
 * Returns the group of endpoints for the user center (specification, section 4.3), an application in which users manage
 * their own data: `uc.api.<group>`. This project has no such application, but a plugin may have one.
 */
export function userGroup(group: string): string {
  return `uc.api.${group}`;
}

/** Returns the group of public endpoints: `api.<group>` (specification, section 4.3). */
export function publicGroup(group: string): string {
  return `api.${group}`;
}
