import { mastersGroup } from '../identity/user-info.ts';
import type { UserInfo } from '../identity/user-info.ts';
import type { Authorizer, Decision } from './authorizer.ts';
import type { PolicyRule } from '../builtin/rbac-objects.ts';

const allowed: Decision = { allowed: true, reason: `group "${mastersGroup}" may do everything` };

const refused: Decision = { allowed: false, reason: '' };

/** The rules that allow everything. */
export const fullAuthority: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

/** True for members of the group that may do everything. */
export function isMaster({ groups }: UserInfo): boolean {
  return groups.includes(mastersGroup);
}

/** Allows everything to the group `system:masters`, and nothing to others. */
export const mastersAuthorizer: Authorizer = {
  decide: (user) => (isMaster(user) ? allowed : refused),
  rulesFor: (user) => (isMaster(user) ? fullAuthority : []),
  reach: () => undefined,
  onChange: () => () => undefined,
};
