import { checkName, isJsonObject, unknownKeyOf } from '@homeostat/controller-runtime/api';

/**
 * A rule that permits verbs on resources or paths. It has the form of a `PolicyRule` of Kubernetes
 * (rbac.authorization.k8s.io/v1).
 */
export interface PermissionRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  /** Default: every name. */
  readonly resourceNames?: readonly string[];
  /** Request paths that are not paths of objects. Only rules of roles may have them. */
  readonly nonResourceURLs?: readonly string[];
}

/** The default roles into which a plugin's role may be aggregated. */
const aggregatingRoles = ['view', 'edit', 'admin'] as const;

/** A role that a plugin offers to users: the ClusterRole `plugin:<plugin>:<name>`. */
export interface PluginRole {
  readonly name: string;
  readonly rules: readonly PermissionRule[];
  /** The default roles that include the rules of this role. Default: none. */
  readonly aggregateTo?: readonly (typeof aggregatingRoles)[number][];
}

/** A mistake, and the path of its field in the manifest. */
interface Mistake {
  readonly field: string;
  readonly message: string;
}

const ruleKeys = ['apiGroups', 'resources', 'resourceNames', 'verbs'];
const pathKeys = ['nonResourceURLs', 'verbs'];
const roleKeys = ['name', 'rules', 'aggregateTo'];

/** Checks `permissions:` of a manifest. */
export function checkPermissions(value: unknown, key: string): readonly Mistake[] {
  return checkRules(value, key, ruleKeys);
}

/** Checks `roles:` of a manifest. */
export function checkRoles(value: unknown, key: string): readonly Mistake[] {
  if (!Array.isArray(value)) return [mistake(key, 'must be a list of roles, each with name and rules')];
  const roles: readonly unknown[] = value;
  const names = roles.map((role) =>
    isJsonObject(role) && typeof role['name'] === 'string' ? role['name'] : undefined,
  );
  return roles.flatMap((role, index) => [
    ...checkRole(role, `${key}[${index}]`),
    ...(names[index] !== undefined && names.indexOf(names[index]) < index
      ? [mistake(`${key}[${index}].name`, `another role has the name "${names[index]}"`)]
      : []),
  ]);
}

function checkRole(role: unknown, field: string): readonly Mistake[] {
  if (!isJsonObject(role)) return [mistake(field, 'must be a role with name and rules')];
  const { name, rules, aggregateTo = [] } = role;
  const wrongName = typeof name === 'string' ? checkName(name, 'label')[0] : 'must be a text';
  return [
    ...unknownKeys(role, field, roleKeys),
    ...(wrongName === undefined ? [] : [mistake(`${field}.name`, wrongName)]),
    ...(rules === undefined ? [mistake(field, 'rules: is missing')] : checkRules(rules, `${field}.rules`)),
    ...checkAggregation(aggregateTo, `${field}.aggregateTo`),
  ];
}

function checkAggregation(value: unknown, field: string): readonly Mistake[] {
  const known: readonly unknown[] = aggregatingRoles;
  if (Array.isArray(value) && value.every((each) => known.includes(each))) return [];
  return [mistake(field, `must be a list, each item one of ${aggregatingRoles.join(', ')}`)];
}

/**
 * Checks a list of rules. `keys` are the permitted keys of each rule. Without `keys`, a rule with `nonResourceURLs` may
 * have the keys of rules about paths, and every other rule may have the keys of rules about objects.
 */
function checkRules(value: unknown, field: string, keys?: readonly string[]): readonly Mistake[] {
  if (!Array.isArray(value)) return [mistake(field, 'must be a list of rules with apiGroups, resources and verbs')];
  return value.flatMap((rule: unknown, index) => {
    const at = `${field}[${index}]`;
    if (!isJsonObject(rule)) return [mistake(at, 'must be a rule with apiGroups, resources and verbs')];
    const own = keys ?? (Object.hasOwn(rule, 'nonResourceURLs') ? pathKeys : ruleKeys);
    return checkRule(rule, at, own);
  });
}

function checkRule(
  rule: Readonly<Record<string, unknown>>,
  field: string,
  keys: readonly string[],
): readonly Mistake[] {
  const missing = keys.filter((key) => key !== 'resourceNames' && !Object.hasOwn(rule, key));
  const listed = keys.filter((key) => Object.hasOwn(rule, key));
  return [
    ...unknownKeys(rule, field, keys),
    ...missing.map((key) => mistake(field, `${key}: is missing`)),
    ...listed.flatMap((key) => checkTexts(rule[key], `${field}.${key}`, key === 'apiGroups')),
  ];
}

/** Checks a list of texts. A text may be empty only in `apiGroups`, where `''` is the core group. */
function checkTexts(value: unknown, field: string, mayBeEmpty: boolean): readonly Mistake[] {
  const isList = Array.isArray(value) && value.length > 0;
  if (isList && value.every((each) => typeof each === 'string' && (mayBeEmpty || each !== ''))) return [];
  return [mistake(field, 'must be a list of at least one text, and only in apiGroups may a text be empty')];
}

function unknownKeys(
  value: Readonly<Record<string, unknown>>,
  field: string,
  keys: readonly string[],
): readonly Mistake[] {
  return Object.keys(value)
    .filter((key) => !keys.includes(key))
    .map((key) => mistake(`${field}.${key}`, unknownKeyOf({ [key]: value[key] }, keys) ?? '', field));
}

/** Returns a mistake whose message begins with the path of the field, as the messages about other keys do. */
function mistake(field: string, problem: string, shown: string = field): Mistake {
  return { field, message: `${shown}: ${problem}` };
}
