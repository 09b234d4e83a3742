import type { PolicyRule } from '../builtin/objects/rbac-objects.ts';

/** The largest list that is searched item by item. For longer lists, a hash set is faster. */
const smallList = 8;

/** A list of texts in a rule. If it contains `*`, it matches every text. */
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
 * A rule of a role, compiled for fast comparison with requests. The rules of a role are compiled once, and all bindings
 * of the role share the result.
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

  /**
   * True when the rule lists the resource, or `anyParent` (an asterisk and the subresource), which stands for this
   * subresource of every resource.
   */
  hasResource(resource: string, anyParent: string | undefined): boolean {
    return this.#resources.has(resource) || (anyParent !== undefined && this.#resources.has(anyParent));
  }
}
