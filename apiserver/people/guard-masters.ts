import { ApiError } from '@homeostat/controller-runtime/api';
import type { ApiObject } from '@homeostat/controller-runtime/api';
import { isUserKind } from '../builtin/user-kind.ts';
import type { UserObject } from '../builtin/user-kind.ts';
import { mastersGroup } from '../identity/user-info.ts';
import { resourceName } from '../registry/object/resource-errors.ts';
import type { WriteGuard } from '../registry/writes/registry-options.ts';

/**
 * Lets only members of `system:masters` write Users of this group: its members may do everything, and no role grants
 * that.
 */
export const mastersGuard: WriteGuard = {
  covers: ({ model }) => isUserKind(model),
  check({ model }, { user, next, stored }) {
    if (user === undefined || user.groups.includes(mastersGroup)) return;
    if (!isOfMasters(next) && !isOfMasters(stored)) return;
    const { name } = next.metadata;
    const message = `${resourceName(model)} "${name}" is forbidden: only members of group "${mastersGroup}" may write its members`;
    throw new ApiError('Forbidden', message, { details: { name, group: model.group, kind: model.plural } });
  },
};

function isOfMasters(object: ApiObject | undefined): boolean {
  const user: UserObject | undefined = object;
  return user?.spec?.groups?.includes(mastersGroup) === true;
}
