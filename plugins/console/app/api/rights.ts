import { isArray, isObject } from '../base/json.ts';
import type { Json } from '../base/json.ts';
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
  /** The plural, followed by `/<subresource>` if there is one. */
  readonly resource: string;
  readonly name?: string;
}

/** The rules in the status of a SelfSubjectRulesReview. */
export function rulesOf(review: unknown): readonly Rule[] {
  const status: Json | undefined = isObject(review) ? review.status : undefined;
  const rules = isObject(status) && isArray(status.resourceRules) ? status.resourceRules.filter(isObject) : [];
  return rules.map(({ verbs, apiGroups, resources, resourceNames }) => ({
    verbs: textsIn(verbs),
    apiGroups: textsIn(apiGroups),
    resources: textsIn(resources),
    resourceNames: textsIn(resourceNames),
  }));
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
