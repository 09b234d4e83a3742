import type { Attributes } from '../authorization/attributes.ts';
import type { UserInfo } from '../identity/user-info.ts';

/** How much of a request is recorded. */
export const auditLevels = ['None', 'Metadata', 'Request', 'RequestResponse'] as const;

export type AuditLevel = (typeof auditLevels)[number];

/** The stages of a request for which an entry may be written. */
export const auditStages = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const;

export type AuditStage = (typeof auditStages)[number];

export interface AuditedResources {
  readonly group: string;
  /** Empty: all. */
  readonly resources: readonly string[];
  /** Empty: all. */
  readonly resourceNames: readonly string[];
}

/**
 * A rule of audit.k8s.io/v1. An empty list sets no condition. A rule with `resources` or `namespaces` matches only
 * requests for resources, and a rule with `nonResourceURLs` matches only other requests.
 */
export interface AuditRule {
  readonly level: AuditLevel;
  readonly users: readonly string[];
  readonly userGroups: readonly string[];
  readonly verbs: readonly string[];
  readonly resources: readonly AuditedResources[];
  /** The namespaces of the requests. The empty string matches requests without a namespace. */
  readonly namespaces: readonly string[];
  readonly nonResourceURLs: readonly string[];
  readonly omitStages: readonly AuditStage[];
  readonly omitManagedFields?: boolean | undefined;
}

/** A policy of audit.k8s.io/v1. */
export interface AuditPolicy {
  readonly rules: readonly AuditRule[];
  readonly omitStages: readonly AuditStage[];
  readonly omitManagedFields: boolean;
}

/** The decision of the policy about a request. */
export interface AuditDecision {
  readonly level: AuditLevel;
  readonly omitStages: readonly AuditStage[];
  readonly omitManagedFields: boolean;
}

const everyRequest: AuditRule = {
  level: 'Metadata',
  users: [],
  userGroups: [],
  verbs: [],
  resources: [],
  namespaces: [],
  nonResourceURLs: [],
  omitStages: [],
};

/**
 * The policy of a server without `--audit-policy`: an entry without bodies at the end of each request. A stream, such
 * as a watch, also has an entry at its start.
 */
export const defaultAuditPolicy: AuditPolicy = {
  rules: [everyRequest],
  omitStages: ['RequestReceived'],
  omitManagedFields: false,
};

const unaudited: AuditDecision = { level: 'None', omitStages: auditStages, omitManagedFields: false };

/** Decides which requests are recorded, by the first rule that matches. */
export class AuditRules {
  readonly #rules: readonly { readonly rule: AuditRule; readonly decision: AuditDecision }[];

  constructor({ rules, omitStages, omitManagedFields }: AuditPolicy) {
    this.#rules = rules.map((rule) => ({
      rule,
      decision: {
        level: rule.level,
        omitStages: [...new Set([...omitStages, ...rule.omitStages])],
        omitManagedFields: rule.omitManagedFields ?? omitManagedFields,
      },
    }));
  }

  /**
   * Returns the decision of the first rule that matches; level `None` when no rule matches. `user` is undefined for a
   * request whose credential was refused.
   */
  decide(user: UserInfo | undefined, attributes: Attributes): AuditDecision {
    for (const { rule, decision } of this.#rules) if (matches(rule, user, attributes)) return decision;
    return unaudited;
  }
}

function matches(rule: AuditRule, user: UserInfo | undefined, attributes: Attributes): boolean {
  const { users, userGroups, verbs, resources, namespaces, nonResourceURLs } = rule;
  if (users.length > 0 && !users.includes(user?.username ?? '')) return false;
  if (userGroups.length > 0 && user?.groups.some((group) => userGroups.includes(group)) !== true) return false;
  if (verbs.length > 0 && !verbs.includes(attributes.verb)) return false;
  if (resources.length + namespaces.length > 0) return attributes.isResource && matchesResource(rule, attributes);
  if (nonResourceURLs.length === 0) return true;
  return !attributes.isResource && nonResourceURLs.some((pattern) => matchesPath(pattern, attributes.path));
}

type ResourceAttributes = Attributes & { readonly isResource: true };

function matchesResource({ namespaces, resources }: AuditRule, attributes: ResourceAttributes): boolean {
  if (namespaces.length > 0 && !namespaces.includes(attributes.namespace ?? '')) return false;
  return resources.length === 0 || resources.some((each) => covers(each, attributes));
}

function covers({ group, resources, resourceNames }: AuditedResources, attributes: ResourceAttributes): boolean {
  if (group !== attributes.group) return false;
  if (resources.length === 0) return true;
  if (resourceNames.length > 0 && !resourceNames.includes(attributes.name ?? '')) return false;
  return resources.some((pattern) => matchesName(pattern, attributes));
}

/**
 * Returns whether a pattern matches a resource, as in Kubernetes. Patterns are `pods`, `pods/log`, `pods/*`, `*`, and a
 * star followed by `/log`, which matches the subresource `log` of every resource.
 */
function matchesName(pattern: string, { resource, subresource }: ResourceAttributes): boolean {
  if (pattern === '*' || pattern === (subresource === undefined ? resource : `${resource}/${subresource}`)) return true;
  return subresource !== undefined && (pattern === `${resource}/*` || pattern === `*/${subresource}`);
}

function matchesPath(pattern: string, path: string): boolean {
  return pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern;
}
