/** The operations of admission, as Kubernetes names them. */
export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

/** A rule of a webhook or a policy. Kubernetes' `RuleWithOperations` (admissionregistration.k8s.io/v1). */
export interface MatchRule {
  readonly operations?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly apiVersions?: readonly string[];
  /**
   * Plurals, with or without a subresource: `persons`, `persons/status`, `persons/*`, `*`; also a star instead of the
   * plural, followed by a slash and a subresource or another star.
   */
  readonly resources?: readonly string[];
  /** `Cluster`, `Namespaced`, or `*`, the default. */
  readonly scope?: string;
}

/** The operation and the resource of a write, in one version of the resource's kind. */
export interface MatchPath {
  readonly operation: AdmissionOperation;
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  /** The subresource; empty for the object itself. */
  readonly subresource: string;
  /** True when the object is in a namespace; false for a Namespace itself. */
  readonly isNamespaced: boolean;
}

/** True when one of the rules applies to this path, as in kube-apiserver. */
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

/**
 * Returns whether a pattern matches a path. `persons/*` matches the objects and their subresources; `persons` matches
 * only the objects.
 */
function matchesResource(pattern: string, { plural, subresource }: MatchPath): boolean {
  const slash = pattern.indexOf('/');
  const name = slash < 0 ? pattern : pattern.slice(0, slash);
  const part = slash < 0 ? '' : pattern.slice(slash + 1);
  return (name === '*' || name === plural) && (part === '*' || part === subresource);
}

/**
 * Returns the version of a kind to which rules apply: the version of the request, or with matchPolicy `Equivalent`
 * another served version. Returns undefined when the rules apply to the write in none of these versions.
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
