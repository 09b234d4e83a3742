/**
 * The request of a decision: `<verb> <resource>[.<group>][:<subresource>][/<name>] [in <namespace>]`, or a
 * verb and a path.
 */
interface Question {
  readonly ask: string;
  readonly allowed: boolean;
}

export interface Decisions {
  readonly title: string;
  readonly rule: object;
  /** The namespace of the RoleBinding. Without it, there is a ClusterRoleBinding. */
  readonly boundIn?: string;
  /** Default: the user ann. */
  readonly subject?: object;
  /** The user who asks. Default: ann. */
  readonly user?: string;
  readonly groups?: readonly string[];
  readonly questions: readonly Question[];
}

const yes = (ask: string): Question => ({ ask, allowed: true });
const no = (ask: string): Question => ({ ask, allowed: false });

const people = 'people.example.com';
const readPersons = { verbs: ['get', 'list'], apiGroups: [people], resources: ['persons'] };
const readCore = { verbs: ['get'], apiGroups: [''], resources: ['events'] };

/** Rules, the users to which they are granted, and the expected decisions. */
export const decisions: readonly Decisions[] = [
  {
    title: 'a rule allows its verbs on its resources of its groups, and nothing else',
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
    title: 'a * as a part of a word has no special meaning',
    rule: { verbs: ['ge*'], apiGroups: ['people.*'], resources: ['person*'] },
    questions: [no(`get persons.${people}`), no(`ge* person*.${people}`)],
  },
  {
    title: 'a subresource is named by itself',
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
    title: '*/scale is the scale of every resource, and only that',
    rule: { verbs: ['patch'], apiGroups: ['*'], resources: ['*/scale'] },
    questions: [
      yes(`patch persons.${people}:scale`),
      yes('patch machines.example.com:scale'),
      no(`patch persons.${people}:status`),
      no(`patch persons.${people}`),
    ],
  },
  {
    title: 'persons/* is no wildcard',
    rule: { verbs: ['get'], apiGroups: [people], resources: ['persons/*'] },
    questions: [no(`get persons.${people}:status`), no(`get persons.${people}`)],
  },
  {
    title: 'names restrict a rule to these objects; a creation and the deletion of a collection name none',
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
    title: 'a RoleBinding grants in its namespace alone',
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
    title: 'a RoleBinding grants no path',
    rule: { verbs: ['get'], nonResourceURLs: ['/metrics'] },
    boundIn: 'home',
    questions: [no('get /metrics')],
  },
  {
    title: 'a path is allowed by itself, and below a * at the end',
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
    title: 'the paths /apis/* are the documents of discovery alone, never endpoints of plugins',
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
    title: 'the paths of a group that a * ends include endpoints of plugins',
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
    title: 'a group grants to its members',
    rule: readCore,
    subject: { kind: 'Group', name: 'staff' },
    groups: ['guests', 'staff'],
    questions: [yes('get events')],
  },
  {
    title: 'a group grants to no user of its name, and to no other group',
    rule: readCore,
    subject: { kind: 'Group', name: 'ann' },
    groups: ['staff'],
    questions: [no('get events')],
  },
  {
    title: 'a user of another name has nothing',
    rule: readCore,
    user: 'Ann',
    questions: [no('get events')],
  },
  {
    title: 'a service account is the user of its namespace and name',
    rule: readCore,
    subject: { kind: 'ServiceAccount', name: 'bot', namespace: 'home' },
    user: 'system:serviceaccount:home:bot',
    questions: [yes('get events')],
  },
  {
    title: 'a service account of another namespace has nothing',
    rule: readCore,
    subject: { kind: 'ServiceAccount', name: 'bot', namespace: 'home' },
    user: 'system:serviceaccount:away:bot',
    questions: [no('get events')],
  },
  {
    title: 'a service account of a RoleBinding is of its namespace, unless it names another',
    rule: readCore,
    boundIn: 'home',
    subject: { kind: 'ServiceAccount', name: 'bot' },
    user: 'system:serviceaccount:home:bot',
    questions: [yes('get events in home'), no('get events in away')],
  },
  {
    title: 'a user may be bound by the name of a service account',
    rule: readCore,
    subject: { kind: 'User', name: 'system:serviceaccount:home:bot' },
    user: 'system:serviceaccount:home:bot',
    questions: [yes('get events')],
  },
  {
    title: 'names of the language JavaScript are names like others',
    rule: { verbs: ['constructor'], apiGroups: ['__proto__'], resources: ['toString'] },
    questions: [yes('constructor toString.__proto__'), no('get toString.__proto__'), no('get constructor')],
  },
  {
    title: 'masters may do everything, whatever is bound',
    rule: readCore,
    subject: { kind: 'User', name: 'nobody' },
    groups: ['system:masters'],
    questions: [yes('get secrets in home'), yes('post /any/path'), yes('bind clusterroles.rbac.authorization.k8s.io')],
  },
];

/** Returns the spec of the review that asks a question. */
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
