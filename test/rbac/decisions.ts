/**
 * The request to decide about, as `<verb> <resource>[.<group>][:<subresource>][/<name>] [in <namespace>]`, or as a verb
 * and a path.
 */
interface Question {
  readonly ask: string;
  readonly allowed: boolean;
}

export interface Decisions {
  readonly title: string;
  readonly rule: object;
  /** The namespace of the RoleBinding that grants the rule. If absent, a ClusterRoleBinding grants the rule. */
  readonly boundIn?: string;
  /** The subject of the binding. Default: the user ann. */
  readonly subject?: object;
  /** The user who sends the request. Default: ann. */
  readonly user?: string;
  readonly groups?: readonly string[];
  readonly questions: readonly Question[];
}

const yes = (ask: string): Question => ({ ask, allowed: true });
const no = (ask: string): Question => ({ ask, allowed: false });

const people = 'people.example.com';
const readPersons = { verbs: ['get', 'list'], apiGroups: [people], resources: ['persons'] };
const readCore = { verbs: ['get'], apiGroups: [''], resources: ['events'] };

/** Rules, the subjects to whom they are granted, and the expected decisions. */
export const decisions: readonly Decisions[] = [
  {
    title: 'a rule allows only its verbs on its resources in its groups',
    rule: readPersons,
    questions: [
      yes(`get persons.${people}`),
      yes(`list persons.${people}`),
      yes(`get persons.${people}/ada`),
      yes(`get persons.${people} in home`),
      no(`watch persons.${people}`),
      no(`create persons.${people}`),
      no(`* persons.${people}`),
      no(`get persons`),
      no(`get persons.example.com`),
      no(`get letters.${people}`),
      no(`get persons.${people}:status`),
      no(`get *.${people}`),
      no('get /persons'),
    ],
  },
  {
    title: 'a * means all verbs, groups or resources, with their subresources',
    rule: { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
    questions: [
      yes('get secrets in home'),
      yes(`deletecollection persons.${people}`),
      yes(`update persons.${people}:status`),
      yes('escalate clusterroles.rbac.authorization.k8s.io/admin'),
      yes('anything things.example.com'),
      no('get /metrics'),
    ],
  },
  {
    title: 'a * within a word has no special meaning',
    rule: { verbs: ['ge*'], apiGroups: ['people.*'], resources: ['person*'] },
    questions: [no(`get persons.${people}`), no(`ge* person*.${people}`)],
  },
  {
    title: 'a rule for a subresource does not include the resource or its other subresources',
    rule: { verbs: ['update'], apiGroups: [people], resources: ['persons/status'] },
    questions: [
      yes(`update persons.${people}:status`),
      yes(`update persons.${people}:status/ada`),
      no(`update persons.${people}`),
      no(`update persons.${people}:scale`),
      no(`update letters.${people}:status`),
    ],
  },
  {
    title: '*/scale means only the subresource scale of every resource',
    rule: { verbs: ['patch'], apiGroups: ['*'], resources: ['*/scale'] },
    questions: [
      yes(`patch persons.${people}:scale`),
      yes('patch machines.example.com:scale'),
      no(`patch persons.${people}:status`),
      no(`patch persons.${people}`),
    ],
  },
  {
    title: 'persons/* is not a wildcard',
    rule: { verbs: ['get'], apiGroups: [people], resources: ['persons/*'] },
    questions: [no(`get persons.${people}:status`), no(`get persons.${people}`)],
  },
  {
    title: 'resourceNames restrict a rule to the named objects, and exclude create and deletecollection',
    rule: { verbs: ['*'], apiGroups: [people], resources: ['persons'], resourceNames: ['ada', 'bob'] },
    questions: [
      yes(`get persons.${people}/ada`),
      yes(`delete persons.${people}/bob`),
      yes(`watch persons.${people}/ada`),
      no(`get persons.${people}/cy`),
      no(`get persons.${people}`),
      no(`list persons.${people}`),
      no(`create persons.${people}/ada`),
      no(`deletecollection persons.${people}/ada`),
      no(`get letters.${people}/ada`),
      no(`get persons.${people}:status/ada`),
    ],
  },
  {
    title: 'a RoleBinding grants permissions only in its namespace',
    rule: { verbs: ['get'], apiGroups: ['', people], resources: ['letters', 'events'] },
    boundIn: 'home',
    questions: [
      yes(`get letters.${people} in home`),
      yes('get events/a in home'),
      no(`get letters.${people} in away`),
      no(`get letters.${people}`),
      no('get events'),
    ],
  },
  {
    title: 'a RoleBinding does not grant access to paths',
    rule: { verbs: ['get'], nonResourceURLs: ['/metrics'] },
    boundIn: 'home',
    questions: [no('get /metrics')],
  },
  {
    title: 'a rule allows a path; a path with a * at the end allows all paths that begin with the text before the *',
    rule: { verbs: ['get', 'head'], nonResourceURLs: ['/metrics', '/debug/*', '/api*'] },
    questions: [
      yes('get /metrics'),
      yes('head /metrics'),
      yes('get /debug/'),
      yes('get /debug/runs/a'),
      yes('get /apis'),
      no('get /debug'),
      no('get /metrics/'),
      no('get /metricsx'),
      no('post /metrics'),
      no('get metrics'),
    ],
  },
  {
    title: 'the paths /apis/* include only the documents of discovery, but not endpoints of plugins',
    rule: { verbs: ['get'], nonResourceURLs: ['/apis/*'] },
    questions: [
      yes('get /apis/shop.example.com'),
      yes('get /apis/shop.example.com/v1'),
      no('get /apis/shop.example.com/v1/report'),
      no('get /apis/shop.example.com/v1/plugins/shop/report'),
      no('get /apis/shop.example.com/*'),
    ],
  },
  {
    title: 'a path with a group and a * at the end includes endpoints of plugins',
    rule: { verbs: ['get'], nonResourceURLs: ['/apis/shop.example.com/*', '/apis/tools*'] },
    questions: [
      yes('get /apis/shop.example.com/v1/report'),
      yes('get /apis/tools.example.com/v1/report'),
      no('get /apis/other.example.com/v1/report'),
      no('post /apis/shop.example.com/v1/report'),
    ],
  },
  {
    title: 'the path * is every path',
    rule: { verbs: ['*'], nonResourceURLs: ['*'] },
    questions: [yes('get /metrics'), yes('post /x/y'), no(`get persons.${people}`)],
  },
  {
    title: 'a * within a path has no special meaning',
    rule: { verbs: ['get'], nonResourceURLs: ['/a/*/b'] },
    questions: [no('get /a/x/b'), yes('get /a/*/b')],
  },
  {
    title: 'a binding of a group applies to the members of the group',
    rule: readCore,
    subject: { kind: 'Group', name: 'staff' },
    groups: ['guests', 'staff'],
    questions: [yes('get events')],
  },
  {
    title: 'a binding of a group does not apply to a user with the name of the group, or to other groups',
    rule: readCore,
    subject: { kind: 'Group', name: 'ann' },
    groups: ['staff'],
    questions: [no('get events')],
  },
  {
    title: 'a binding does not apply to a user with another name',
    rule: readCore,
    user: 'Ann',
    questions: [no('get events')],
  },
  {
    title: 'a binding of the service account bot in home applies to the user system:serviceaccount:home:bot',
    rule: readCore,
    subject: { kind: 'ServiceAccount', name: 'bot', namespace: 'home' },
    user: 'system:serviceaccount:home:bot',
    questions: [yes('get events')],
  },
  {
    title: 'a binding does not apply to a service account in another namespace',
    rule: readCore,
    subject: { kind: 'ServiceAccount', name: 'bot', namespace: 'home' },
    user: 'system:serviceaccount:away:bot',
    questions: [no('get events')],
  },
  {
    title: 'a service account that a RoleBinding names without a namespace is in the namespace of the binding',
    rule: readCore,
    boundIn: 'home',
    subject: { kind: 'ServiceAccount', name: 'bot' },
    user: 'system:serviceaccount:home:bot',
    questions: [yes('get events in home'), no('get events in away')],
  },
  {
    title: 'a binding of a User with the name of a service account applies to the service account',
    rule: readCore,
    subject: { kind: 'User', name: 'system:serviceaccount:home:bot' },
    user: 'system:serviceaccount:home:bot',
    questions: [yes('get events')],
  },
  {
    title: "names of JavaScript's built-in properties have no special meaning",
    rule: { verbs: ['constructor'], apiGroups: ['__proto__'], resources: ['toString'] },
    questions: [yes('constructor toString.__proto__'), no('get toString.__proto__'), no('get constructor')],
  },
  {
    title: 'members of system:masters may do everything without a binding',
    rule: readCore,
    subject: { kind: 'User', name: 'nobody' },
    groups: ['system:masters'],
    questions: [yes('get secrets in home'), yes('post /any/path'), yes('bind clusterroles.rbac.authorization.k8s.io')],
  },
];

/** Returns the spec of a SubjectAccessReview for a question. */
export function reviewOf(ask: string, { user = 'ann', groups = [] }: Pick<Decisions, 'user' | 'groups'>): object {
  const [, verb = '', what = '', namespace] = /^(\S+) (\S+)(?: in (\S+))?$/.exec(ask) ?? [];
  if (what === 'metrics' || what.startsWith('/')) return { user, groups, nonResourceAttributes: { verb, path: what } };
  const [named = '', name] = what.split('/');
  const [qualified = '', subresource] = named.split(':');
  const dot = qualified.indexOf('.');
  const resource = dot < 0 ? qualified : qualified.slice(0, dot);
  const group = dot < 0 ? '' : qualified.slice(dot + 1);
  return { user, groups, resourceAttributes: { verb, group, resource, subresource, name, namespace } };
}
