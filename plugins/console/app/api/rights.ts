import { isArray, isObject } from '../base/json.ts';
import type { Json, JsonObject } from '../base/json.ts';
import { textsIn } from '../base/object.ts';

export interface Rule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
}

export interface Request {
  readonly verb: string;
  readonly group: string;
  /** The plural of the kind, followed by `/<subresource>` if there is one. */
  readonly resource: string;
  readonly name?: string;
}

/** Returns the rules for resources in the status of a SelfSubjectRulesReview. */
export function rulesOf(review: unknown): readonly Rule[] {
  const status: Json | undefined = isObject(review) ? review.status : undefined;
  const rules = isObject(status) && isArray(status.resourceRules) ? status.resourceRules.filter(isObject) : [];
  return rules.map(ruleOf);
}

/** Returns the paths that the user of a review may get; a `*` at the end of a path matches any rest. */
export function readablePathsOf(review: unknown): readonly string[] {
  const status: Json | undefined = isObject(review) ? review.status : undefined;
  const rules = isObject(status) && isArray(status.nonResourceRules) ? status.nonResourceRules.filter(isObject) : [];
  return rules.flatMap(({ verbs, nonResourceURLs }) =>
    includes(textsIn(verbs), 'get') ? textsIn(nonResourceURLs) : [],
  );
}

/** True if one of the allowed `paths` covers this path. */
export function coversPath(paths: readonly string[], path: string): boolean {
  return paths.some((each) => (each.endsWith('*') ? path.startsWith(each.slice(0, -1)) : each === path));
}

/** Reads a rule of a role, or of a review. */
export function ruleOf({ verbs, apiGroups, resources, resourceNames }: JsonObject): Rule {
  return {
    verbs: textsIn(verbs),
    apiGroups: textsIn(apiGroups),
    resources: textsIn(resources),
    resourceNames: textsIn(resourceNames),
  };
}

/** True if one of the rules allows the request; RBAC only adds permissions. */
export function mayDo(rules: readonly Rule[], { verb, group, resource, name }: Request): boolean {
  return rules.some(
    (rule) =>
      includes(rule.verbs, verb) &&
      includes(rule.apiGroups, group) &&
      coversResource(rule.resources, resource) &&
      (rule.resourceNames.length === 0 || (name !== undefined && rule.resourceNames.includes(name))),
  );
}

function includes(list: readonly string[], value: string): boolean {
  return list.includes('*') || list.includes(value);
}

function coversResource(list: readonly string[], resource: string): boolean {
  const subresource = resource.split('/')[1];
  return includes(list, resource) || (subresource !== undefined && list.includes(`*/${subresource}`));
}
