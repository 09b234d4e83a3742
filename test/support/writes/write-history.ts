/** A write that the server has acknowledged. */
export interface Acknowledged {
  readonly name: string;
  readonly op: 'create' | 'update' | 'delete';
  /**
   * The revision of the object after a creation or an update; undefined for a deletion, whose response has no revision.
   */
  readonly resourceVersion: number | undefined;
  readonly version: number;
}

/** An event that a watcher received. */
export interface Seen {
  readonly type: string;
  readonly name: string;
  readonly resourceVersion: number;
  readonly version: number;
}

/** An object as a list returns it. */
export interface Listed {
  readonly name: string;
  readonly resourceVersion: number;
  readonly version: number;
  readonly slug: string;
}

/** Returns the last acknowledged write of each object, by name. */
export function lastWrites(history: readonly Acknowledged[]): ReadonlyMap<string, Acknowledged> {
  return new Map(history.map((write) => [write.name, write]));
}

/** Returns the revisions of the objects that exist after the given events, by name. */
export function replay(events: readonly Seen[]): ReadonlyMap<string, number> {
  const present = new Map<string, number>();
  for (const { type, name, resourceVersion } of events) {
    if (type === 'DELETED') present.delete(name);
    else present.set(name, resourceVersion);
  }
  return present;
}
