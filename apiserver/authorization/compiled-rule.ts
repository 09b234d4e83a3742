import type { PolicyRule } from '../builtin/objects/rbac-objects.ts';

/** From this size on, a hash set is faster than a search of the list. */
const smallList = 8;

/** The texts of a list in a rule; `*` among them means all. */
class TextSet {
  readonly #isAll: boolean;
  readonly #list: readonly string[];
  readonly #set: ReadonlySet<string> | undefined;

  constructor(texts: readonly string[]) {
    this.#isAll = texts.includes('*');
    this.#list = texts;
    this.#set = texts.length > smallList && !this.#isAll ? new Set(texts) : undefined;
  }

  has(text: string): boolean {
    return this.#isAll || (this.#set === undefined ? this.#list.includes(text) : this.#set.has(text));
  }
}

/**
 * A rule in the form in which requests are compared with it. Made once for each rule of a role, and shared by its
 * bindings.
 */
export class CompiledRule {
  readonly rule: PolicyRule;
  readonly resources: readonly string[];
  readonly names: readonly string[];
  readonly urls: readonly string[];
  readonly #verbs: TextSet;
  readonly #groups: TextSet;
  readonly #resources: TextSet;

  constructor(rule: PolicyRule) {
    this.rule = rule;
    this.resources = rule.resources ?? [];
    this.names = rule.resourceNames ?? [];
    this.urls = rule.nonResourceURLs ?? [];
    this.#verbs = new TextSet(rule.verbs);
    this.#groups = new TextSet(rule.apiGroups ?? []);
    this.#resources = new TextSet(this.resources);
  }

  hasVerb(verb: string): boolean {
    return this.#verbs.has(verb);
  }

  hasVerbAndGroup(verb: string, group: string): boolean {
    return this.#verbs.has(verb) && this.#groups.has(group);
  }

  /** True when the rule names the resource, or `anyParent`: the same subresource of all resources. */
  hasResource(resource: string, anyParent: string | undefined): boolean {
    return this.#resources.has(resource) || (anyParent !== undefined && this.#resources.has(anyParent));
  }
}
