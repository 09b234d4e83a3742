import { mastersGroup } from '../identity/user-info.ts';
import type { UserInfo } from '../identity/user-info.ts';
import type { Attributes, ResourceAttributes } from './attributes.ts';
import type { Authorizer, Decision } from './authorizer.ts';
import { BindingTable } from './binding-table.ts';
import { includesPermission } from './cover-rules.ts';
import type { PolicyRule, RoleRef } from '../builtin/objects/rbac-objects.ts';
import type { BindingContent, RoleContent } from './role-content.ts';
import { referredRole, RoleTable } from './role-table.ts';

/** A request that a rule allows for any name of the object, and the decision of this rule. */
interface Allowed {
  readonly attributes: ResourceAttributes;
  readonly decision: Decision;
}

/** The decision about every request of a member of `system:masters`. */
const allowedToMasters: Decision = { allowed: true, reason: `group "${mastersGroup}" may do everything` };

/** The rules that allow everything. */
export const fullAuthority: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

/** True for members of `system:masters`, who may do everything. */
export function isMaster({ groups }: UserInfo): boolean {
  return groups.includes(mastersGroup);
}

const refused: Decision = { allowed: false, reason: '' };

/**
 * Verbs that a rule with `resourceNames` never allows, except `create` on a subresource, because this request names an
 * object.
 */
const verbsWithoutName: readonly string[] = ['create', 'deletecollection'];

/**
 * Decides by the roles and bindings, which are in memory. Members of `system:masters` may do everything, whatever roles
 * they have.
 */
export class RbacAuthorizer implements Authorizer {
  readonly #roles = new RoleTable();
  readonly #bindings = new BindingTable(this.#roles);
  readonly #listeners = new Set<() => void>();
  readonly #reach: () => Promise<void> | undefined;
  /**
   * A cache: for each user, the last request that a rule allowed for any name of the object. Most requests of a client
   * differ only in the name of the object. The cache is cleared when roles or bindings change.
   */
  #last = new WeakMap<UserInfo, Allowed>();

  /**
   * Creates an authorizer without roles. @param reach returns a promise that resolves when memory has all acknowledged
   * writes; by default, nothing waits
   */
  constructor(reach: () => Promise<void> | undefined = () => undefined) {
    this.#reach = reach;
  }

  /**
   * Returns a promise that resolves when memory has all acknowledged writes, also those of roles and bindings. Returns
   * undefined when the request need not wait: always for members of `system:masters`, who need no roles.
   */
  reach(user: UserInfo): Promise<void> | undefined {
    return isMaster(user) ? undefined : this.#reach();
  }

  decide(user: UserInfo, attributes: Attributes): Decision {
    if (isMaster(user)) return allowedToMasters;
    if (attributes.isResource) {
      const last = this.#last.get(user);
      const isKnown = last !== undefined && asksTheSame(last.attributes, attributes);
      return isKnown ? last.decision : this.#decideResource(user, attributes);
    }
    const { verb, path } = attributes;
    return this.#bindings.first(user, undefined, (grants) => grants.ofPath(verb, path)) ?? refused;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  setRole(role: RoleContent): void {
    this.#bindings.onRoles(this.#roles.set(role));
    this.#changed();
  }

  removeRole(role: Pick<RoleContent, 'name' | 'namespace'>): void {
    this.#bindings.onRoles(this.#roles.remove(role));
    this.#changed();
  }

  setBinding(binding: BindingContent): void {
    this.#bindings.set(binding);
    this.#changed();
  }

  removeBinding(binding: Pick<BindingContent, 'name' | 'namespace'>): void {
    this.#bindings.remove(binding);
    this.#changed();
  }

  /** Returns the rules of a role to which a binding in this namespace refers; undefined when there is no such role. */
  rulesOfRole(roleRef: RoleRef, namespace: string | undefined): readonly PolicyRule[] | undefined {
    return this.#roles.rulesOf(referredRole(roleRef, namespace));
  }

  /**
   * Returns the aggregated ClusterRoles whose stored `rules` are outdated, with their correct rules.
   */
  outdatedRoles(): readonly { readonly name: string; readonly rules: readonly PolicyRule[] }[] {
    return this.#roles.outdated();
  }

  /**
   * Returns the rules that a user has in a namespace, without duplicates. If `namespace` is undefined, returns the
   * rules for the whole cluster.
   */
  rulesFor(user: UserInfo, namespace: string | undefined): readonly PolicyRule[] {
    if (isMaster(user)) return fullAuthority;
    const rules = new Set<PolicyRule>();
    this.#bindings.first(user, namespace, (grants) => {
      for (const rule of grants.rules()) rules.add(rule);
      return undefined;
    });
    return [...rules];
  }

  /** True when the user has a permission. `permission` must be one of the rules that `permissionsOf` returns. */
  holds(user: UserInfo, namespace: string | undefined, permission: PolicyRule): boolean {
    return (
      this.#bindings.first(user, namespace, (grants) => includesPermission(grants, permission) || undefined) === true
    );
  }

  #decideResource(user: UserInfo, attributes: ResourceAttributes): Decision {
    const { verb, group, resource: plural, subresource, namespace } = attributes;
    const question = {
      verb,
      group,
      resource: subresource === undefined ? plural : `${plural}/${subresource}`,
      name: subresource === undefined && verbsWithoutName.includes(verb) ? undefined : attributes.name,
    };
    const decision = this.#bindings.first(user, namespace, (grants) => grants.ofResource(question));
    if (decision === undefined) return refused;
    const unnamed = { ...question, name: undefined };
    const isForAll = this.#bindings.first(user, namespace, (grants) => grants.ofResource(unnamed)) === decision;
    if (isForAll) this.#last.set(user, { attributes, decision });
    return decision;
  }

  #changed(): void {
    this.#last = new WeakMap();
    for (const listener of this.#listeners) listener();
  }
}

/** True for requests that differ only in name and version. A rule without names allows both of them, or neither. */
function asksTheSame(one: ResourceAttributes, other: ResourceAttributes): boolean {
  return (
    one.verb === other.verb &&
    one.resource === other.resource &&
    one.group === other.group &&
    one.namespace === other.namespace &&
    one.subresource === other.subresource
  );
}
