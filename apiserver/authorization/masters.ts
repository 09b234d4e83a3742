import { mastersGroup } from '../identity/user-info.ts';
import type { UserInfo } from '../identity/user-info.ts';
import type { Decision } from './authorizer.ts';
import type { PolicyRule } from '../builtin/objects/rbac-objects.ts';

/** The decision about each request of a member. */
export const allowedToMasters: Decision = { allowed: true, reason: `group "${mastersGroup}" may do everything` };

/** The rules that allow everything. */
export const fullAuthority: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

/** True for members of the group that may do everything. */
export function isMaster({ groups }: UserInfo): boolean {
  return groups.includes(mastersGroup);
}
