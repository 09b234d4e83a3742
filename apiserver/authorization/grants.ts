import type { Decision } from './authorizer.ts';
import type { CompiledRule } from './compiled-rule.ts';
import type { PolicyRule } from '../builtin/objects/rbac-objects.ts';

/** A question whether a request for an object or a collection is allowed. */
export interface ResourceQuestion {
  readonly verb: string;
  readonly group: string;
  /** The plural, or `<plural>/<subresource>` for a subresource. */
  readonly resource: string;
  /** The name of the object; undefined when the request names none. */
  readonly name: string | undefined;
}

/** A rule that a binding grants. */
export interface Grant {
  readonly rule: CompiledRule;
  /** The decision that {@link Grants} returns when the rule allows a request. */
  readonly decision: Decision;
}

/**
 * The minimum number of rules for which the decision about a request is cached. Counts the rules of the user or group
 * in this scope that are not restricted to names of objects, and that name the requested resource, all resources, or
 * the requested subresource of all resources.
 */
const fewRules = 4;

/**
 * The maximum number of cached decisions. A full cache is cleared. It needs a limit, because reviews may ask about any
 * verb and resource.
 */
const maxRemembered = 2000;

type Remembered = Map<string, Map<string, Map<string, Decision | null>>>;

/**
 * The rules that one user or group has in one scope: the cluster, or a namespace. They are indexed by resource, by name
 * and by path, so that a decision reads few rules, however many there are. The memory is proportional to the number of
 * rules.
 */
export class Grants {
  readonly #byResource = new Map<string, Grant[]>();
  readonly #byName = new Map<string, Grant[]>();
  readonly #byPath = new Map<string, Grant[]>();
  readonly #byPrefix = new Map<string, Grant[]>();
  readonly #prefixLengths: readonly number[];
  readonly #rules: PolicyRule[] = [];
  readonly #remembered: Remembered = new Map();
  #rememberedCount = 0;

  constructor(grants: Iterable<Grant>) {
    for (const grant of grants) this.#add(grant);
    this.#prefixLengths = [...new Set([...this.#byPrefix.keys()].map(({ length }) => length))];
  }

  /** Returns the decision of a rule that allows the request; undefined when no rule allows it. */
  ofResource(question: ResourceQuestion): Decision | undefined {
    const found = this.#ofAnyName(question);
    if (found !== undefined || question.name === undefined || this.#byName.size === 0) return found;
    const { verb, group, resource, name } = question;
    const anyParent = anyParentOf(resource);
    const named = this.#byName.get(name);
    return named?.find(({ rule }) => rule.hasVerbAndGroup(verb, group) && rule.hasResource(resource, anyParent))
      ?.decision;
  }

  /**
   * Returns the decision of a rule that allows a request for a path; undefined when no rule allows it. If the requested
   * path ends with `*`, only a rule for all paths with this beginning allows the request.
   */
  ofPath(verb: string, path: string): Decision | undefined {
    const found = firstWithVerb(this.#byPath.get(path), verb);
    if (found !== undefined) return found;
    for (const length of this.#prefixLengths) {
      const prefix = path.slice(0, length);
      const below = length > path.length ? undefined : this.#byPrefix.get(prefix);
      const isCovered = prefix !== discoveryPrefix || isDiscovery(path);
      const decision = isCovered ? firstWithVerb(below, verb) : undefined;
      if (decision !== undefined) return decision;
    }
    return undefined;
  }

  /** Returns all rules. If several bindings grant a rule, it occurs several times. */
  rules(): readonly PolicyRule[] {
    return this.#rules;
  }

  #ofAnyName(question: ResourceQuestion): Decision | undefined {
    const { resource } = question;
    const own = this.#byResource.get(resource);
    const any = this.#byResource.get('*');
    const anyParent = anyParentOf(resource);
    const ofParent = anyParent === undefined ? undefined : this.#byResource.get(anyParent);
    const count = (own?.length ?? 0) + (any?.length ?? 0) + (ofParent?.length ?? 0);
    if (count === 0) return undefined;
    // The rules for the resource, for `*` and for the subresource of any resource are searched one after the other. To
    // join these three lists into one would take time, and most decisions are made here.
    const decide = (): Decision | undefined =>
      search(own, question) ?? search(any, question) ?? search(ofParent, question);
    return count < fewRules ? decide() : this.#remember(question, decide);
  }

  #remember({ verb, group, resource }: ResourceQuestion, decide: () => Decision | undefined): Decision | undefined {
    const known = this.#remembered.get(resource)?.get(group)?.get(verb);
    if (known !== undefined) return known ?? undefined;
    const decision = decide();
    if (this.#rememberedCount === maxRemembered) {
      this.#remembered.clear();
      this.#rememberedCount = 0;
    }
    this.#rememberedCount += 1;
    const ofResource = getOrAdd(this.#remembered, resource, () => new Map<string, Map<string, Decision | null>>());
    getOrAdd(ofResource, group, () => new Map<string, Decision | null>()).set(verb, decision ?? null);
    return decision;
  }

  #add(grant: Grant): void {
    const { names, resources, urls, rule } = grant.rule;
    this.#rules.push(rule);
    for (const url of new Set(urls)) {
      if (url.endsWith('*')) push(this.#byPrefix, withoutStars(url), grant);
      else push(this.#byPath, url, grant);
    }
    const index = names.length > 0 ? this.#byName : this.#byResource;
    for (const key of new Set(names.length > 0 ? names : resources)) push(index, key, grant);
  }
}

/** The start of the paths of the discovery documents of groups and versions, which all authenticated users may read. */
const discoveryPrefix = '/apis/';

/**
 * True for `/apis/<group>` and `/apis/<group>/<version>`. Deeper paths are endpoints of plugins, to which the rule for
 * discovery must not give access.
 */
function isDiscovery(path: string): boolean {
  const segments = path.slice(discoveryPrefix.length).split('/');
  return segments.length <= 2 && (!path.endsWith('*') || path === `${discoveryPrefix}*`);
}

/**
 * For a subresource, replaces the resource before the slash with an asterisk. A rule that lists the result grants this
 * subresource of every resource. Returns undefined for a resource that is not a subresource.
 */
function anyParentOf(resource: string): string | undefined {
  const slash = resource.indexOf('/');
  return slash < 0 ? undefined : `*${resource.slice(slash)}`;
}

function withoutStars(url: string): string {
  let end = url.length;
  while (url[end - 1] === '*') end -= 1;
  return url.slice(0, end);
}

function search(list: readonly Grant[] | undefined, { verb, group }: ResourceQuestion): Decision | undefined {
  return list?.find(({ rule }) => rule.hasVerbAndGroup(verb, group))?.decision;
}

function firstWithVerb(grants: readonly Grant[] | undefined, verb: string): Decision | undefined {
  return grants?.find(({ rule }) => rule.hasVerb(verb))?.decision;
}

function push(index: Map<string, Grant[]>, key: string, grant: Grant): void {
  getOrAdd(index, key, () => []).push(grant);
}

/** Returns the value of a key. If the map does not have the key, creates the value with `make` and adds it. */
export function getOrAdd<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
