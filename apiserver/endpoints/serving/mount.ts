import type { EndpointOwner } from './endpoint-owner.ts';
import { formatPattern, patternKey } from '../routes/path-pattern.ts';
import type { PatternSegment } from '../routes/path-pattern.ts';
import type { RouterEntry } from '../routes/router.ts';

/** A router's entry in its place. */
export interface MountedEntry {
  readonly owner: EndpointOwner;
  /** Its segments begin after group and version. */
  readonly definition: RouterEntry;
  /** Full path, variables as {name}. */
  readonly path: string;
  /** `GET /apis/…`, for messages. */
  readonly label: string;
}

/** A kind whose generated paths come first. */
export interface GeneratedKind {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly owner: string;
}

/** Everything that is served under one `/apis/<group>/<version>`. */
export class Mount {
  readonly groupVersion: string;
  #entries: readonly MountedEntry[] = [];
  /** Those that a path of so many segments can be of, in their order. */
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

  /** Entries to try for a path of `length` segments after the version. Paths are bounded, and so is this. */
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

/** An entry under a group and version. */
export function mountEntry(groupVersion: string, owner: EndpointOwner, definition: RouterEntry): MountedEntry {
  const path = `/apis/${groupVersion}${formatPattern(definition.segments)}`;
  const method = definition.kind === 'route' ? definition.method : 'a router function at';
  return Object.freeze({ owner, definition, path, label: `${method} ${path}` });
}

/** Segments that generated paths begin with, beside the plural. */
const generatedWords: readonly string[] = ['namespaces', 'watch'];

/** Whether a route could match `/<plural>…`, `/namespaces/…` or `/watch/…` of a kind in the same group and version. */
export function collidesWith({ definition }: MountedEntry, { plural }: GeneratedKind): boolean {
  // A router function without a path of its own is asked for what no generated path has taken.
  const [first] = definition.segments;
  return first !== undefined && canBe(first, plural);
}

function canBe(segment: PatternSegment, plural: string): boolean {
  return segment.kind === 'variable' || segment.text === plural || generatedWords.includes(segment.text);
}

/** The same for routes that take the same requests, predicates aside; undefined for router functions. */
export function routeKey({ definition }: MountedEntry): string | undefined {
  return definition.kind === 'route' ? `${definition.method} ${patternKey(definition.segments)}` : undefined;
}
