import type { PolicyRule, RoleRef, Subject } from '../../builtin/objects/rbac-objects.ts';
import { fullAuthority } from '../rbac-authorizer.ts';

/** A ClusterRole that every server has. */
export interface DefaultRole {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly rules: readonly PolicyRule[];
  /** The label of the roles whose rules this role collects; absent for a role that has its own rules. */
  readonly collects?: string;
}

/** A ClusterRoleBinding that every server has. */
export interface DefaultBinding {
  readonly name: string;
  readonly roleRef: RoleRef;
  readonly subjects: readonly Subject[];
}

const group = 'rbac.authorization.k8s.io';
const core = '';

/** The API group of the kinds that show what controllers do. */
const controllers = 'controllers.homeostat.internal';

const read = ['get', 'list', 'watch'] as const;
const write = ['create', 'delete', 'deletecollection', 'patch', 'update'] as const;
const all = [...write, ...read].sort();

/** Returns the label of the roles whose rules `role` collects. `role` is `view`, `edit` or `admin`. */
const aggregateTo = (role: string): string => `${group}/aggregate-to-${role}`;

function rule(verbs: readonly string[], apiGroup: string, resources: readonly string[]): PolicyRule {
  return { verbs: [...verbs], apiGroups: [apiGroup], resources: [...resources] };
}

function paths(...nonResourceURLs: readonly string[]): PolicyRule {
  return { verbs: ['get'], nonResourceURLs };
}

const health = ['/healthz', '/livez', '/readyz'];
const version = ['/version', '/version/'];

/** The rules of the role `view`: the kinds that its users may read. Secrets are not among them. */
const viewRules: readonly PolicyRule[] = [
  rule(read, core, ['configmaps', 'events', 'serviceaccounts', 'services']),
  rule(read, core, ['namespaces', 'namespaces/status', 'resourcequotas', 'resourcequotas/status']),
  rule(read, 'events.k8s.io', ['events']),
];

const editRules: readonly PolicyRule[] = [
  rule(read, core, ['secrets']),
  rule(write, core, ['configmaps', 'events', 'secrets', 'serviceaccounts', 'services']),
  rule(['create'], core, ['serviceaccounts/token']),
  rule(['impersonate'], core, ['serviceaccounts']),
  rule(write, 'events.k8s.io', ['events']),
  rule(all, 'coordination.k8s.io', ['leases']),
];

const adminRules: readonly PolicyRule[] = [
  rule(['create'], 'authorization.k8s.io', ['localsubjectaccessreviews']),
  rule(all, group, ['rolebindings', 'roles']),
];

/**
 * The ClusterRoles that every server has: those of Kubernetes that are useful here, and two for the reports of
 * controllers. `cluster-admin` allows everything. The rules of the other roles here name only paths, and kinds that
 * every server has; `admin`, `edit` and `view` collect the rules of labelled roles.
 */
export const defaultRoles: readonly DefaultRole[] = [
  { name: 'cluster-admin', rules: fullAuthority },
  { name: 'admin', collects: aggregateTo('admin'), rules: [] },
  { name: 'edit', collects: aggregateTo('edit'), labels: { [aggregateTo('admin')]: 'true' }, rules: [] },
  { name: 'view', collects: aggregateTo('view'), labels: { [aggregateTo('edit')]: 'true' }, rules: [] },
  { name: 'system:aggregate-to-admin', labels: { [aggregateTo('admin')]: 'true' }, rules: adminRules },
  { name: 'system:aggregate-to-edit', labels: { [aggregateTo('edit')]: 'true' }, rules: editRules },
  { name: 'system:aggregate-to-view', labels: { [aggregateTo('view')]: 'true' }, rules: viewRules },
  {
    name: 'system:discovery',
    rules: [
      paths('/api', '/api/*', '/apis', '/apis/*', '/openapi', '/openapi/*', '/openapi.json', ...health, ...version),
      // All authenticated users may read these pages. The documentation shows no more than discovery does, and the
      // pages of the console and of plugins contain no data of users.
      paths('/console', '/console/*', '/docs', '/docs/*', '/plugins/*'),
    ],
  },
  {
    name: 'system:basic-user',
    rules: [
      rule(['create'], 'authorization.k8s.io', ['selfsubjectaccessreviews', 'selfsubjectrulesreviews']),
      rule(['create'], 'authentication.k8s.io', ['selfsubjectreviews']),
    ],
  },
  { name: 'system:public-info-viewer', rules: [paths(...health, ...version)] },
  {
    name: 'system:service-account-issuer-discovery',
    rules: [paths('/.well-known/openid-configuration', '/.well-known/openid-configuration/', '/openid/v1/jwks')],
  },
  { name: 'system:monitoring', rules: [paths(...health, ...health.map((path) => `${path}/*`), '/metrics')] },
  // This role is not a part of `view`: records of runs show values of objects, and a reader of the records may not be
  // allowed to read these objects.
  {
    name: 'system:controllers-viewer',
    rules: [rule(read, controllers, ['controllers', 'controllers/status', 'runs'])],
  },
  {
    name: 'system:controllers-reporter',
    rules: [
      rule(['create'], controllers, ['runs']),
      rule(['create', 'get', 'update'], controllers, ['controllers']),
      rule(['update'], controllers, ['controllers/status']),
    ],
  },
  {
    name: 'system:auth-delegator',
    rules: [
      rule(['create'], 'authentication.k8s.io', ['tokenreviews']),
      rule(['create'], 'authorization.k8s.io', ['subjectaccessreviews']),
    ],
  },
];

function bind(name: string, ...groups: readonly string[]): DefaultBinding {
  const subjects = groups.map((each) => ({ kind: 'Group', apiGroup: group, name: each }));
  return { name, roleRef: { apiGroup: group, kind: 'ClusterRole', name }, subjects };
}

export const defaultBindings: readonly DefaultBinding[] = [
  bind('cluster-admin', 'system:masters'),
  bind('system:discovery', 'system:authenticated'),
  bind('system:basic-user', 'system:authenticated'),
  bind('system:public-info-viewer', 'system:authenticated', 'system:unauthenticated'),
  bind('system:service-account-issuer-discovery', 'system:serviceaccounts'),
  bind('system:monitoring', 'system:monitoring'),
];
