import { matchesLabels } from '@homeostat/controller-runtime/api';
import { CompiledRule } from './compiled-rule.ts';
import type { LabelSelector, PolicyRule, RoleRef } from '../builtin/objects/rbac-objects.ts';
import type { RoleContent } from './role-content.ts';
import { selectorOf } from './label-selector.ts';
import type { LabelMatcher } from './label-selector.ts';

interface Role {
  readonly content: RoleContent;
  readonly selectors: readonly LabelMatcher[] | undefined;
  /**
   * The rules that the role grants; undefined before their first use, and again after a change that may affect them.
   */
  rules: readonly PolicyRule[] | undefined;
  compiled: readonly CompiledRule[] | undefined;
}

/** The key of a role: `<namespace>/<name>`, with an empty namespace for a ClusterRole. Names have no slash. */
export type RoleKey = string;

function roleKeyOf({ namespace = '', name }: { namespace?: string | undefined; name: string }): RoleKey {
  return `${namespace}/${name}`;
}

/** Returns the key of the role that a binding in this namespace refers to. */
export function referredRole({ kind, name }: RoleRef, namespace: string | undefined): RoleKey {
  return roleKeyOf(kind === 'Role' ? { namespace, name } : { name });
}

/**
 * All roles, and the rules that each role grants. An aggregated ClusterRole grants the rules of the roles that it
 * selects.
 */
export class RoleTable {
  readonly #roles = new Map<RoleKey, Role>();
  readonly #aggregated = new Map<RoleKey, Role>();

  /** Stores a role, and returns the keys of all roles whose rules may have changed. */
  set(content: RoleContent): readonly RoleKey[] {
    const key = roleKeyOf(content);
    const { aggregates } = content;
    const selectors = aggregates?.map((each: LabelSelector) => selectorOf(each));
    const role: Role = { content, selectors, rules: undefined, compiled: undefined };
    this.#roles.set(key, role);
    if (selectors === undefined) this.#aggregated.delete(key);
    else this.#aggregated.set(key, role);
    return this.#changed(content, key);
  }

  /** Removes a role, and returns the keys of all roles whose rules may have changed. */
  remove(content: Pick<RoleContent, 'name' | 'namespace'>): readonly RoleKey[] {
    const key = roleKeyOf(content);
    this.#roles.delete(key);
    this.#aggregated.delete(key);
    return this.#changed(content, key);
  }

  /** Returns the rules that a role grants; undefined when there is no such role. */
  rulesOf(key: RoleKey): readonly PolicyRule[] | undefined {
    const role = this.#roles.get(key);
    if (role === undefined) return undefined;
    role.rules ??= role.selectors === undefined ? role.content.rules : this.#collect(role);
    return role.rules;
  }

  /** Returns the rules that a role grants, in the form in which requests are compared with them. */
  compiledOf(key: RoleKey): readonly CompiledRule[] {
    const role = this.#roles.get(key);
    if (role === undefined) return [];
    role.compiled ??= (this.rulesOf(key) ?? []).map((rule) => new CompiledRule(rule));
    return role.compiled;
  }

  /**
   * Returns the aggregated ClusterRoles whose stored `rules` are outdated, with their correct rules.
   */
  outdated(): readonly { readonly name: string; readonly rules: readonly PolicyRule[] }[] {
    return [...this.#aggregated].flatMap(([key, { content }]) => {
      const rules = this.rulesOf(key) ?? [];
      return JSON.stringify(rules) === JSON.stringify(content.rules) ? [] : [{ name: content.name, rules }];
    });
  }

  #changed({ namespace }: Pick<RoleContent, 'namespace'>, key: RoleKey): readonly RoleKey[] {
    if (namespace !== undefined || this.#aggregated.size === 0) return [key];
    for (const role of this.#aggregated.values()) {
      role.rules = undefined;
      role.compiled = undefined;
    }
    return [key, ...this.#aggregated.keys()];
  }

  /**
   * Returns the rules of all roles that a role selects, directly or through other aggregated roles, without duplicates.
   */
  #collect(role: Role): readonly PolicyRule[] {
    const rules = new Map<string, PolicyRule>();
    for (const { content } of this.#selected(role)) {
      for (const rule of content.rules) rules.set(JSON.stringify(rule), rule);
    }
    return [...rules.values()];
  }

  /**
   * Returns the roles that a role selects, directly or through other aggregated roles, and that are not aggregated
   * themselves, in the order of their names.
   */
  #selected(role: Role): readonly Role[] {
    const seen = new Set<Role>([role]);
    const open = [role];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      for (const other of this.#roles.values()) {
        if (seen.has(other) || !isSelected(next, other)) continue;
        seen.add(other);
        if (other.selectors !== undefined) open.push(other);
      }
    }
    const own = [...seen].filter(({ selectors }) => selectors === undefined);
    return own.sort((a, b) => (a.content.name < b.content.name ? -1 : 1));
  }
}

function isSelected({ selectors = [] }: Role, { content: { namespace, labels } }: Role): boolean {
  if (namespace !== undefined) return false;
  return selectors.some((selector) => matchesLabels(selector, labels));
}
