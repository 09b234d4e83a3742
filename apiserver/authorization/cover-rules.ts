import { CompiledRule } from './compiled-rule.ts';
import { Grants } from './grants.ts';
import type { PolicyRule } from '../builtin/objects/rbac-objects.ts';

const allowed = { allowed: true, reason: '' };

/**
 * Splits a rule into its permissions. Each permission is a rule with one verb, and with either one path, or one group,
 * one resource and at most one name.
 */
export function permissionsOf({
  verbs,
  apiGroups = [],
  resources = [],
  resourceNames = [],
  nonResourceURLs = [],
}: PolicyRule): readonly PolicyRule[] {
  const names = resourceNames.length === 0 ? [undefined] : resourceNames;
  const ofResources = apiGroups.flatMap((group) =>
    resources.flatMap((resource) =>
      names.map((name) => ({
        apiGroups: [group],
        resources: [resource],
        ...(name === undefined ? {} : { resourceNames: [name] }),
      })),
    ),
  );
  const places = [...ofResources, ...nonResourceURLs.map((url) => ({ nonResourceURLs: [url] }))];
  return places.flatMap((place) => verbs.map((verb) => ({ ...place, verbs: [verb] })));
}

/** Returns the number of permissions of a rule. */
export function permissionCount({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): number {
  const named = Math.max(1, resourceNames?.length ?? 0);
  const ofResources = (apiGroups?.length ?? 0) * (resources?.length ?? 0) * named;
  return verbs.length * (ofResources + (nonResourceURLs?.length ?? 0));
}

/**
 * True when `grants` include a permission. The permission is a rule with one verb, and with one path or one resource,
 * as {@link permissionsOf} returns it.
 */
export function includesPermission(
  grants: Grants,
  { verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule,
): boolean {
  const [verb = ''] = verbs;
  const [path] = nonResourceURLs ?? [];
  if (path !== undefined) return grants.ofPath(verb, path) !== undefined;
  const [group = ''] = apiGroups ?? [];
  const [resource = ''] = resources ?? [];
  return grants.ofResource({ verb, group, resource, name: resourceNames?.[0] }) !== undefined;
}

/** True when `rules` together include every permission of `rule`. */
export function covers(rules: readonly PolicyRule[], rule: PolicyRule): boolean {
  const grants = new Grants(rules.map((each) => ({ rule: new CompiledRule(each), decision: allowed })));
  return permissionsOf(rule).every((permission) => includesPermission(grants, permission));
}
