import { ApiError } from '@homeostat/controller-runtime/api';
import type { ApiObject } from '@homeostat/controller-runtime/api';
import { isUserKind } from '../../builtin/user-kind.ts';
import type { UserObject } from '../../builtin/user-kind.ts';
import { mastersGroup } from '../../identity/user-info.ts';
import { resourceName } from '../../registry/object/resource-errors.ts';
import type { GuardedWrite, WriteGuard } from '../../registry/writes/registry-parts.ts';
import { isMaster } from '../rbac-authorizer.ts';
import type { RbacAuthorizer } from '../rbac-authorizer.ts';

/**
 * Returns the guard of Users. Only members of `system:masters` may add a User to that group, or change a User in it,
 * because no role grants what this group may do. To add a User to another group, the writer needs the verb
 * `impersonate` on the group, since the writer could log in as that User. Groups that the User already has need no
 * permission.
 */
export function userGuard(authorizer: RbacAuthorizer): WriteGuard {
  return {
    covers: ({ model }) => isUserKind(model),
    check({ model }, write) {
      const why = problemOf(authorizer, write);
      if (why === undefined) return;
      const { name } = write.next.metadata;
      throw new ApiError('Forbidden', `${resourceName(model)} "${name}" is forbidden: ${why}`, {
        details: { name, group: model.group, kind: model.plural },
      });
    },
  };
}

function problemOf(authorizer: RbacAuthorizer, { user, next, stored }: GuardedWrite): string | undefined {
  if (user === undefined || isMaster(user)) return undefined;
  const before = new Set(groupsOf(stored));
  const after = groupsOf(next);
  if (before.has(mastersGroup) || after.includes(mastersGroup))
    return `only members of group "${mastersGroup}" may create, change or delete users in this group`;
  const asked = { isResource: true, verb: 'impersonate', group: '', version: 'v1', resource: 'groups' } as const;
  const refused = after.find((name) => !before.has(name) && !authorizer.decide(user, { ...asked, name }).allowed);
  if (refused === undefined) return undefined;
  const [who, group] = [JSON.stringify(user.username), JSON.stringify(refused)];
  return `user ${who} cannot give the group ${group}: this needs the verb "impersonate" on "groups" with this name`;
}

function groupsOf(object: ApiObject | undefined): readonly string[] {
  const user: UserObject | undefined = object;
  return user?.spec?.groups ?? [];
}
