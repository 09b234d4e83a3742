/** A search of an audit log; an entry must match all given values. */
export interface AuditSearch {
  readonly user?: string | undefined;
  readonly verb?: string | undefined;
  /** The kind, as `<plural>` or `<plural>.<group>`; with `/<subresource>` at its end, only this subresource. */
  readonly resource?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly code?: number | undefined;
  /** The time of the earliest entry to find, in milliseconds since 1970. */
  readonly sinceMs?: number | undefined;
}

/** The parts of an entry that are searched and shown. */
export interface AuditEntry {
  readonly stage?: string;
  readonly verb?: string;
  readonly requestURI?: string;
  readonly stageTimestamp?: string;
  readonly user?: { readonly username?: string };
  readonly impersonatedUser?: { readonly username?: string };
  readonly sourceIPs?: readonly string[];
  readonly objectRef?: {
    readonly resource?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly apiGroup?: string;
    readonly subresource?: string;
  };
  readonly responseStatus?: { readonly code?: number };
  readonly requestObject?: unknown;
  readonly responseObject?: unknown;
}

/** Returns true for an entry that matches the search. */
export function isFound(entry: AuditEntry, search: AuditSearch): boolean {
  const { user, verb, namespace, name, code, sinceMs } = search;
  const { objectRef = {} } = entry;
  if (user !== undefined && entry.user?.username !== user && entry.impersonatedUser?.username !== user) return false;
  if (verb !== undefined && entry.verb !== verb) return false;
  if (namespace !== undefined && objectRef.namespace !== namespace) return false;
  if (name !== undefined && objectRef.name !== name) return false;
  if (code !== undefined && entry.responseStatus?.code !== code) return false;
  if (sinceMs !== undefined && !(Date.parse(entry.stageTimestamp ?? '') >= sinceMs)) return false;
  return search.resource === undefined || isResource(objectRef, search.resource);
}

function isResource(ref: NonNullable<AuditEntry['objectRef']>, wanted: string): boolean {
  const { resource = '', apiGroup = '', subresource } = ref;
  const [kind = '', part] = wanted.split('/');
  if (part !== undefined && part !== subresource) return false;
  return kind === resource || kind === `${resource}.${apiGroup}`;
}
