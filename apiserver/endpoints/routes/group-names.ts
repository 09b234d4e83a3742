/** Returns the group of endpoints for the admin console: `console.api.<group>` (spec 4.3). */
export function consoleGroup(group: string): string {
  return `console.api.${group}`;
}

/** Returns the group of endpoints for the user center: `uc.api.<group>` (spec 4.3). */
export function userGroup(group: string): string {
  return `uc.api.${group}`;
}

/** Returns the group of public endpoints: `api.<group>` (spec 4.3). */
export function publicGroup(group: string): string {
  return `api.${group}`;
}
