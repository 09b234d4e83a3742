import type { UserInfo } from '../identity/user-info.ts';
import { permissionCount, permissionsOf } from './cover-rules.ts';
import type { PolicyRule } from '../builtin/objects/rbac-objects.ts';
import type { RbacAuthorizer } from './rbac-authorizer.ts';

/**
 * The maximum number of permissions that one write may grant, not counting rules that the writer already has. A write
 * that grants more is refused, because it would take long to compare them with the permissions of the writer. A
 * permission is one verb on one resource of one group (on one name, if the rule has names), or on one path.
 */
const maxPermissions = 10_000;

/** The maximum number of permissions that a message names, since people read the message. */
const maxNamed = 100;

/**
 * Returns the reason why a user may not grant these rules, in the words of Kubernetes: it lists the permissions that
 * the user does not have, or says that the rules have too many permissions. undefined when the user may grant the
 * rules.
 */
export function escalationOf(
  authorizer: RbacAuthorizer,
  { user, namespace, rules }: { user: UserInfo; namespace: string | undefined; rules: readonly PolicyRule[] },
): string | undefined {
  const held = new Set(authorizer.rulesFor(user, namespace));
  // Rules are compared by identity here. A user who already has the role that a binding grants has the same rule
  // objects.
  const open = rules.filter((rule) => !held.has(rule));
  const count = open.reduce((sum, rule) => sum + permissionCount(rule), 0);
  const who = `user ${JSON.stringify(user.username)} (groups=${quoteAll(user.groups)})`;
  if (count > maxPermissions)
    return `${who} is attempting to grant ${count} RBAC permissions, and at most ${maxPermissions} can be compared with the permissions of a user: divide the role, or use a rule with "*"`;
  const missing = open.flatMap((rule) =>
    permissionsOf(rule).filter((permission) => !authorizer.holds(user, namespace, permission)),
  );
  if (missing.length === 0) return undefined;
  const lines = [...new Set(compact(missing).map(describe))].sort();
  const more = lines.length > maxNamed ? [`… and ${lines.length - maxNamed} more`] : [];
  const named = [...lines.slice(0, maxNamed), ...more].join('\n');
  return `${who} is attempting to grant RBAC permissions not currently held:\n${named}`;
}

/** Joins permissions that differ only in their verbs. */
function compact(permissions: readonly PolicyRule[]): readonly PolicyRule[] {
  const joined = new Map<string, PolicyRule & { readonly verbs: string[] }>();
  for (const { verbs, ...place } of permissions) {
    const key = JSON.stringify(place);
    const known = joined.get(key);
    if (known === undefined) joined.set(key, { ...place, verbs: [...verbs] });
    else known.verbs.push(...verbs.filter((verb) => !known.verbs.includes(verb)));
  }
  return [...joined.values()];
}

function describe({ apiGroups, resources, nonResourceURLs, resourceNames, verbs }: PolicyRule): string {
  const parts = Object.entries({
    APIGroups: apiGroups,
    Resources: resources,
    NonResourceURLs: nonResourceURLs,
    ResourceNames: resourceNames,
    Verbs: verbs,
  });
  const named = parts.flatMap(([name, texts]) =>
    texts === undefined || texts.length === 0 ? [] : [`${name}:${quoteAll(texts)}`],
  );
  return `{${named.join(', ')}}`;
}

function quoteAll(texts: readonly string[]): string {
  return `[${texts.map((text) => JSON.stringify(text)).join(' ')}]`;
}
