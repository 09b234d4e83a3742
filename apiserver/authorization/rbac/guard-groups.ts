import { ApiError } from '@homeostat/controller-runtime/api';
import type { ApiObject } from '@homeostat/controller-runtime/api';
import { isUserKind } from '../../builtin/user-kind.ts';
import type { UserObject } from '../../builtin/user-kind.ts';
import { resourceName } from '../../registry/object/resource-errors.ts';
import type { WriteGuard } from '../../registry/writes/registry-options.ts';
import { isMaster } from '../masters-authorizer.ts';
import type { RbacAuthorizer } from '../rbac-authorizer.ts';

/**
 * Returns the guard that lets writers put a User into those groups alone that they may `impersonate`: with a password, they
 * could act as its member. Groups that the User has already may stay.
 */
export function groupGuard(authorizer: RbacAuthorizer): WriteGuard {
  return {
    covers: ({ model }) => isUserKind(model),
    check({ model }, { user, next, stored }) {
      if (user === undefined || isMaster(user)) return;
      const before = new Set(groupsOf(stored));
      const asked = { isResource: true, verb: 'impersonate', group: '', version: 'v1', resource: 'groups' } as const;
      const refused = groupsOf(next).find(
        (name) => !before.has(name) && !authorizer.decide(user, { ...asked, name }).allowed,
      );
      if (refused === undefined) return;
      const { name } = next.metadata;
      const [who, group] = [JSON.stringify(user.username), JSON.stringify(refused)];
      const why = `user ${who} cannot give the group ${group}: this needs the verb "impersonate" on "groups" with this name`;
      throw new ApiError('Forbidden', `${resourceName(model)} "${name}" is forbidden: ${why}`, {
        details: { name, group: model.group, kind: model.plural },
      });
    },
  };
}

function groupsOf(object: ApiObject | undefined): readonly string[] {
  const user: UserObject | undefined = object;
  return user?.spec?.groups ?? [];
}
