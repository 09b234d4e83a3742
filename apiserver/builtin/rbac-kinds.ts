import { defineModel } from '@homeostat/controller-runtime/api';
import type { JsonSchema, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { rbacGroup } from './rbac-defaults.ts';
import { checkRoleBinding, checkClusterRole, checkRole } from './check-rbac.ts';

const text = { type: 'string' } as const;
const texts = { type: 'array', items: text, 'x-kubernetes-list-type': 'atomic' } as const;

const rules: JsonSchema = {
  type: 'array',
  nullable: true,
  description: 'The rules of the role.',
  'x-kubernetes-list-type': 'atomic',
  items: {
    type: 'object',
    properties: {
      verbs: { ...texts, description: 'The allowed verbs, such as get, list or create; * is everything.' },
      apiGroups: { ...texts, description: 'The groups of the resources; the empty text is the core group.' },
      resources: {
        ...texts,
        description: 'Plurals, such as persons, and subresources, such as persons/status or */scale; * is everything.',
      },
      resourceNames: { ...texts, description: 'The names of the objects. Default: all.' },
      nonResourceURLs: {
        ...texts,
        description: 'Paths other than those of objects, such as /metrics; a * at the end matches any rest of a path.',
      },
    },
  },
};

const selector: JsonSchema = {
  type: 'object',
  properties: {
    matchLabels: { type: 'object', additionalProperties: text, nullable: true },
    matchExpressions: {
      type: 'array',
      nullable: true,
      'x-kubernetes-list-type': 'atomic',
      items: {
        type: 'object',
        required: ['key', 'operator'],
        properties: { key: text, operator: text, values: { ...texts, nullable: true } },
      },
    },
  },
};

const aggregationRule: JsonSchema = {
  type: 'object',
  nullable: true,
  description: 'Selects ClusterRoles by their labels. The rules of this role are then those of the selected roles.',
  properties: {
    clusterRoleSelectors: { type: 'array', nullable: true, 'x-kubernetes-list-type': 'atomic', items: selector },
  },
};

const bindingFields: Readonly<Record<string, JsonSchema>> = {
  roleRef: {
    type: 'object',
    description: 'The role that is granted. It cannot be changed.',
    'x-kubernetes-map-type': 'atomic',
    properties: { apiGroup: text, kind: text, name: text },
  },
  subjects: {
    type: 'array',
    nullable: true,
    description: 'The users, groups and service accounts to which the role is granted.',
    'x-kubernetes-list-type': 'atomic',
    items: {
      type: 'object',
      'x-kubernetes-map-type': 'atomic',
      properties: {
        kind: { ...text, description: 'User, Group or ServiceAccount.' },
        apiGroup: text,
        name: text,
        namespace: { ...text, description: 'The namespace of a ServiceAccount.' },
      },
    },
  },
};

const version = 'rbac.authorization.k8s.io/v1';

/** `rbac.authorization.k8s.io/v1 Role`: permissions in one namespace. */
export const roleKind: ModelDescriptor = defineModel({
  gvk: `${version}/Role`,
  plural: 'roles',
  scope: 'Namespaced',
  nameFormat: 'path',
  schema: { type: 'object', properties: { rules } },
  validate: checkRole,
});

/** `rbac.authorization.k8s.io/v1 ClusterRole`: permissions in the whole cluster, or where a RoleBinding grants them. */
export const clusterRoleKind: ModelDescriptor = defineModel({
  gvk: `${version}/ClusterRole`,
  plural: 'clusterroles',
  nameFormat: 'path',
  schema: { type: 'object', properties: { rules, aggregationRule } },
  validate: checkClusterRole,
});

/** `rbac.authorization.k8s.io/v1 RoleBinding`: grants a Role or a ClusterRole in one namespace. */
export const roleBindingKind: ModelDescriptor = defineModel({
  gvk: `${version}/RoleBinding`,
  plural: 'rolebindings',
  scope: 'Namespaced',
  nameFormat: 'path',
  schema: { type: 'object', properties: bindingFields },
  validate: (next, stored) => checkRoleBinding(next, stored, ['ClusterRole', 'Role']),
});

/** `rbac.authorization.k8s.io/v1 ClusterRoleBinding`: grants a ClusterRole in the whole cluster. */
export const clusterRoleBindingKind: ModelDescriptor = defineModel({
  gvk: `${version}/ClusterRoleBinding`,
  plural: 'clusterrolebindings',
  nameFormat: 'path',
  schema: { type: 'object', properties: bindingFields },
  validate: (next, stored) => checkRoleBinding(next, stored, ['ClusterRole']),
});

export const rbacKinds: readonly ModelDescriptor[] = [
  clusterRoleKind,
  roleKind,
  clusterRoleBindingKind,
  roleBindingKind,
];

/** True for the kinds of bindings. */
export function isBindingKind({ group, kind }: Pick<ModelDescriptor, 'group' | 'kind'>): boolean {
  return group === rbacGroup && (kind === roleBindingKind.kind || kind === clusterRoleBindingKind.kind);
}
