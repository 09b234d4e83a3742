import type { UserInfo } from '../identity/user-info.ts';
import type { Decision } from './authorizer.ts';
import { getOrAdd, Grants } from './grants.ts';
import type { Grant } from './grants.ts';
import type { Subject } from '../builtin/objects/rbac-objects.ts';
import type { BindingContent } from './role-content.ts';
import { referredRole } from './role-table.ts';
import type { RoleKey, RoleTable } from './role-table.ts';

/** A binding, and one of its subjects: the user, group or service account to whom the binding grants its role. */
interface Granting {
  readonly binding: BindingContent;
  readonly subject: Subject;
}

/**
 * The bindings of one user or group in one scope, and the grants that are computed from them at the first decision
 * after a change.
 */
interface Holding {
  readonly bindings: Map<Granting, RoleKey>;
  grants: Grants | undefined;
}

/** The {@link Holding} of one user or group in each namespace; the empty string is the key for the whole cluster. */
type Holdings = Map<string, Holding>;

/** The places of one binding in the other maps of {@link BindingTable}. */
interface Placed {
  readonly roleKey: RoleKey;
  readonly at: readonly { readonly holder: Map<string, Holdings>; readonly name: string; readonly by: Granting }[];
}

const serviceAccountPrefix = 'system:serviceaccount:';

/** All bindings, by the users and groups to which they grant something. */
export class BindingTable {
  readonly #roles: RoleTable;
  readonly #users = new Map<string, Holdings>();
  readonly #groups = new Map<string, Holdings>();
  readonly #placed = new Map<string, Placed>();
  /**
   * For each role, the bindings to this role by their keys; and for each binding, the {@link Holding} of each user and
   * group to which the binding gives the role. When the role changes, the computed grants of these users and groups are
   * discarded.
   */
  readonly #holdersOf = new Map<RoleKey, Map<string, readonly Holding[]>>();

  constructor(roles: RoleTable) {
    this.#roles = roles;
  }

  set(binding: BindingContent): void {
    this.remove(binding);
    const { namespace, roleRef, subjects } = binding;
    const roleKey = referredRole(roleRef, namespace);
    const holdings: Holding[] = [];
    const at = subjects.flatMap((subject) => {
      const place = this.#placeOf(subject, namespace);
      if (place === undefined) return [];
      const by = { binding, subject };
      const scopes = getOrAdd(place.holder, place.name, () => new Map<string, Holding>());
      const holding = getOrAdd(scopes, namespace ?? '', () => ({ bindings: new Map(), grants: undefined }));
      holding.bindings.set(by, roleKey);
      holding.grants = undefined;
      holdings.push(holding);
      return [{ ...place, by }];
    });
    const key = keyOf(binding);
    this.#placed.set(key, { roleKey, at });
    getOrAdd(this.#holdersOf, roleKey, () => new Map<string, readonly Holding[]>()).set(key, holdings);
  }

  remove(binding: Pick<BindingContent, 'name' | 'namespace'>): void {
    const key = keyOf(binding);
    const placed = this.#placed.get(key);
    if (placed === undefined) return;
    this.#placed.delete(key);
    const ofRole = this.#holdersOf.get(placed.roleKey);
    ofRole?.delete(key);
    if (ofRole?.size === 0) this.#holdersOf.delete(placed.roleKey);
    const scope = binding.namespace ?? '';
    for (const { holder, name, by } of placed.at) {
      const scopes = holder.get(name);
      const holding = scopes?.get(scope);
      if (scopes === undefined || holding === undefined) continue;
      holding.bindings.delete(by);
      holding.grants = undefined;
      if (holding.bindings.size === 0) scopes.delete(scope);
      if (scopes.size === 0) holder.delete(name);
    }
  }

  /** Drops the computed grants of each user and group with one of these roles, whose rules may have changed. */
  onRoles(keys: readonly RoleKey[]): void {
    for (const key of keys) {
      for (const holdings of this.#holdersOf.get(key)?.values() ?? []) {
        for (const holding of holdings) holding.grants = undefined;
      }
    }
  }

  /**
   * Calls `ask` with the grants of the user and of each of its groups, first for the cluster, then for the namespace.
   * Returns the first result that is not undefined, and then makes no further calls.
   */
  first<Answer>(
    user: UserInfo,
    namespace: string | undefined,
    ask: (grants: Grants) => Answer | undefined,
  ): Answer | undefined {
    const found = this.#firstIn('', user, ask);
    return found !== undefined || namespace === undefined ? found : this.#firstIn(namespace, user, ask);
  }

  #firstIn<Answer>(
    scope: string,
    { username, groups }: UserInfo,
    ask: (grants: Grants) => Answer | undefined,
  ): Answer | undefined {
    const ofUser = this.#grantsOf(this.#users.get(username), scope);
    const found = ofUser === undefined ? undefined : ask(ofUser);
    if (found !== undefined) return found;
    for (const group of groups) {
      const ofGroup = this.#grantsOf(this.#groups.get(group), scope);
      const answer = ofGroup === undefined ? undefined : ask(ofGroup);
      if (answer !== undefined) return answer;
    }
    return undefined;
  }

  #grantsOf(scopes: Holdings | undefined, scope: string): Grants | undefined {
    const holding = scopes?.get(scope);
    if (holding === undefined) return undefined;
    holding.grants ??= new Grants(this.#grantsIn(holding));
    return holding.grants;
  }

  *#grantsIn({ bindings }: Holding): Generator<Grant> {
    for (const [by, roleKey] of bindings) {
      const decision = decisionOf(by);
      for (const rule of this.#roles.compiledOf(roleKey)) yield { rule, decision };
    }
  }

  #placeOf(subject: Subject, namespace: string | undefined): Pick<Placed['at'][number], 'holder' | 'name'> | undefined {
    const { kind, name } = subject;
    if (kind === 'User') return { holder: this.#users, name };
    if (kind === 'Group') return { holder: this.#groups, name };
    const of = subject.namespace ?? namespace;
    if (kind !== 'ServiceAccount' || of === undefined) return undefined;
    return { holder: this.#users, name: `${serviceAccountPrefix}${of}:${name}` };
  }
}

function keyOf({ namespace = '', name }: Pick<BindingContent, 'name' | 'namespace'>): string {
  return `${namespace}/${name}`;
}

/** Returns the decision that allows a request by a binding, with a reason in the words of Kubernetes. */
function decisionOf({ binding: { name, namespace, roleRef }, subject }: Granting): Decision {
  const binding = namespace === undefined ? `ClusterRoleBinding "${name}"` : `RoleBinding "${name}/${namespace}"`;
  const who =
    subject.kind === 'ServiceAccount' ? `${subject.name}/${subject.namespace ?? namespace ?? ''}` : subject.name;
  const role = `${roleRef.kind} ${JSON.stringify(roleRef.name)}`;
  return {
    allowed: true,
    reason: `RBAC: allowed by ${binding} of ${role} to ${subject.kind} ${JSON.stringify(who)}`,
  };
}
