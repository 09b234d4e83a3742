import { isJsonObject } from '@homeostat/controller-runtime/api';
import type { ApiObject } from '@homeostat/controller-runtime/api';
import type { KindStrategy } from '../registry/rules/kind-strategy.ts';

/** The group of roles and bindings. */
export const rbacGroup = 'rbac.authorization.k8s.io';

type Fields = Readonly<Record<string, unknown>>;

/** The rules of bindings. They fill in the API group of roles, users and groups, which clients may leave out. */
export const bindingStrategy: KindStrategy = {
  completeNew: complete,
  completeNext: (next) => complete(next),
  isHeld: () => false,
  declareDeleted: (object) => object,
  finalize: (stored) => stored,
  checkDelete: () => undefined,
};

/**
 * Adds the API group of a binding's role, users and groups where the client left it out. Values of wrong types remain
 * unchanged, because the schema refuses them.
 */
function complete(object: ApiObject): ApiObject {
  if (!isJsonObject(object)) return object;
  const { roleRef, subjects } = object;
  return {
    ...object,
    ...(isJsonObject(roleRef) ? { roleRef: withGroup(roleRef) } : {}),
    ...(Array.isArray(subjects) ? { subjects: subjects.map(completeSubject) } : {}),
  };
}

function completeSubject(subject: unknown): unknown {
  return isJsonObject(subject) && (subject['kind'] === 'User' || subject['kind'] === 'Group')
    ? withGroup(subject)
    : subject;
}

function withGroup(fields: Fields): Fields {
  const { apiGroup } = fields;
  return apiGroup === undefined || apiGroup === null || apiGroup === '' ? { ...fields, apiGroup: rbacGroup } : fields;
}
