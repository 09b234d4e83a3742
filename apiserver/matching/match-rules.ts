/** The operations of admission, as Kubernetes names them. */
export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

/** A rule of a webhook or a policy. Kubernetes' `RuleWithOperations` (admissionregistration.k8s.io/v1). */
export interface MatchRule {
  readonly operations?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly apiVersions?: readonly string[];
  /** Plurals, with or without a subresource: `persons`, `persons/status`, `persons/*`, `*`, `*` + `/scale`, `*` + `/*`. */
  readonly resources?: readonly string[];
  /** `Cluster`, `Namespaced`, or `*`, the default. */
  readonly scope?: string;
}

/** The path of a write, in one version of its kind. */
export interface MatchPath {
  readonly operation: AdmissionOperation;
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  /** Empty for the object itself. */
  readonly subresource: string;
  /** True when the object is in a namespace; a Namespace itself is not. */
  readonly isNamespaced: boolean;
}

/** True when one of the rules applies to this path. The same rules as kube-apiserver's. */
export function matchesRules(rules: readonly MatchRule[], path: MatchPath): boolean {
  return rules.some((rule) => matchesRule(rule, path));
}

function matchesRule(rule: MatchRule, path: MatchPath): boolean {
  const { operations = [], apiGroups = [], apiVersions = [], resources = [], scope = '*' } = rule;
  return (
    has(operations, path.operation) &&
    has(apiGroups, path.group) &&
    has(apiVersions, path.version) &&
    (scope === '*' || (scope === 'Namespaced') === path.isNamespaced) &&
    resources.some((resource) => matchesResource(resource, path))
  );
}

function has(list: readonly string[], value: string): boolean {
  return list.includes(value) || list.includes('*');
}

/** `persons/*` is for the objects as well as for their subresources; `persons` is for the objects alone. */
function matchesResource(pattern: string, { plural, subresource }: MatchPath): boolean {
  const slash = pattern.indexOf('/');
  const name = slash < 0 ? pattern : pattern.slice(0, slash);
  const part = slash < 0 ? '' : pattern.slice(slash + 1);
  return (name === '*' || name === plural) && (part === '*' || part === subresource);
}

/**
 * Finds the version of a kind that rules are for: the version of the request, or with matchPolicy `Equivalent`
 * another served one. Returns undefined when the rules are not for this path.
 */
export function matchedVersion(
  { rules = [], matchPolicy = 'Equivalent' }: { readonly rules?: readonly MatchRule[]; readonly matchPolicy?: string },
  path: MatchPath,
  servedVersions: readonly string[],
): string | undefined {
  if (matchesRules(rules, path)) return path.version;
  if (matchPolicy !== 'Equivalent') return undefined;
  return servedVersions.find((version) => version !== path.version && matchesRules(rules, { ...path, version }));
}
