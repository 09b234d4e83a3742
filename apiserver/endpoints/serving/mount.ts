import type { EndpointOwner } from './endpoint-owner.ts';
import { formatPattern, patternKey } from '../routes/path-pattern.ts';
import type { PatternSegment } from '../routes/path-pattern.ts';
import type { RouterEntry } from '../routes/router.ts';

/** An entry of a router, with its full path. */
export interface MountedEntry {
  readonly owner: EndpointOwner;
  /** The route or router function. Its `segments` are the part of the path after `/apis/<group>/<version>`. */
  readonly definition: RouterEntry;
  /** The full path. Variables are written as {name}. */
  readonly path: string;
  /** The name of the endpoint in messages: its method and path, such as `GET /apis/…`. */
  readonly label: string;
}

/** A kind. Its generated paths take precedence over endpoints. */
export interface GeneratedKind {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly owner: string;
}

/** All endpoints that are served under one `/apis/<group>/<version>`. */
export class Mount {
  readonly groupVersion: string;
  #entries: readonly MountedEntry[] = [];
  /** The entries that a path with a given number of segments can match, in the order of registration. */
  readonly #byLength = new Map<number, readonly MountedEntry[]>();

  constructor(groupVersion: string) {
    this.groupVersion = groupVersion;
  }

  get entries(): readonly MountedEntry[] {
    return this.#entries;
  }

  set entries(entries: readonly MountedEntry[]) {
    this.#entries = entries;
    this.#byLength.clear();
  }

  /**
   * Returns the entries that a path with `length` segments after the version can match. Caches the entries of each
   * length. The cache remains small, because a path can have only a limited number of segments.
   */
  candidates(length: number): readonly MountedEntry[] {
    const known = this.#byLength.get(length);
    if (known !== undefined) return known;
    const found = this.#entries.filter(({ definition: { kind, segments } }) =>
      kind === 'route' ? segments.length === length : segments.length <= length,
    );
    this.#byLength.set(length, found);
    return found;
  }
}

/** Returns an entry of a router with its owner, and with its full path under a group and version. */
export function mountEntry(groupVersion: string, owner: EndpointOwner, definition: RouterEntry): MountedEntry {
  const path = `/apis/${groupVersion}${formatPattern(definition.segments)}`;
  const method = definition.kind === 'route' ? definition.method : 'a router function at';
  return Object.freeze({ owner, definition, path, label: `${method} ${path}` });
}

/** The segments, besides a plural, that can follow `/apis/<group>/<version>/` in the paths of kinds. */
const generatedWords: readonly string[] = ['namespaces', 'watch'];

/**
 * True when an entry of a router could match `/<plural>…`, `/namespaces/…` or `/watch/…`, the paths of a kind with the
 * same group and version.
 */
export function collidesWith({ definition }: MountedEntry, { plural }: GeneratedKind): boolean {
  // A router function without its own path collides with no kind, because it is called only for other paths than those
  // of kinds.
  const [first] = definition.segments;
  return first !== undefined && canBe(first, plural);
}

function canBe(segment: PatternSegment, plural: string): boolean {
  return segment.kind === 'variable' || segment.text === plural || generatedWords.includes(segment.text);
}

/**
 * Returns a key that is equal for two routes if they match the same requests, apart from their predicates; undefined
 * for router functions.
 */
export function routeKey({ definition }: MountedEntry): string | undefined {
  return definition.kind === 'route' ? `${definition.method} ${patternKey(definition.segments)}` : undefined;
}
