/**
 * A set of fields, in the form of `fieldsV1`: each key is a path element, and each value is the set below this element.
 * Path elements are `f:<name>`, `k:<keys of an item>`, `v:<value of an item>`, and in the sets of some clients
 * `i:<index>`. A path is a member when its node is empty or contains `.`; other nodes only lead to members. The root
 * itself is not a member: `{}` is the empty set. A set may be changed in place only while it is being built.
 */
export interface FieldSet {
  readonly [element: string]: FieldSet;
}

type Nodes = Record<string, FieldSet>;

/** Marks the node itself as a member, beside its children. */
const self = '.';

/** A member without members below it. As a root, it is the empty set. */
export const leaf: FieldSet = Object.freeze({});

/** Returns the path element of a field. */
export function fieldElement(name: string): string {
  return `f:${name}`;
}

/** Returns the name of the field for a path element such as `f:spec`; undefined for an element of a list's item. */
export function fieldOf(element: string): string | undefined {
  return element.startsWith('f:') ? element.slice(2) : undefined;
}

/** True when the set is empty. */
export function isEmptySet(set: FieldSet): boolean {
  for (const _ in set) return false;
  return true;
}

/** True when the path of a node is a member of the set. Callers never pass the root of a set, which is not a member. */
export function isMember(node: FieldSet): boolean {
  return Object.hasOwn(node, self) || isEmptySet(node);
}

/** Returns a node with these children, for a path that is itself a member of the set. */
export function memberOf(children: FieldSet): FieldSet {
  return isEmptySet(children) ? leaf : { [self]: leaf, ...children };
}

/** Returns the union of two sets; `a` itself when `b` adds no member. */
export function union(a: FieldSet, b: FieldSet): FieldSet {
  let result: Nodes | undefined;
  for (const element in b) {
    const right = b[element];
    if (element === self || right === undefined) continue;
    const left = childOf(a, element);
    const both = left === undefined || left === right ? right : uniteNodes(left, right);
    if (both === left) continue;
    result ??= Object.assign({}, a);
    result[element] = both;
  }
  return result ?? a;
}

function uniteNodes(a: FieldSet, b: FieldSet): FieldSet {
  if (b === leaf) return isMember(a) ? a : memberOf(a);
  const below = union(a, b);
  if (isMember(a)) return below === a ? a : memberOf(below);
  return isMember(b) ? memberOf(below) : below;
}

/** Returns the members of `a` that are not in `b`; `a` itself when no member of `a` is in `b`. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  let changed: Map<string, FieldSet | undefined> | undefined;
  for (const element in b) {
    const left = childOf(a, element);
    const right = b[element];
    if (left === undefined || right === undefined || element === self) continue;
    const rest = subtractNode(left, right);
    if (rest !== left) (changed ??= new Map<string, FieldSet | undefined>()).set(element, rest);
  }
  return changed === undefined ? a : withNodes(a, changed);
}

/** Returns the set with some nodes replaced, or removed where the new node is undefined. */
function withNodes(set: FieldSet, nodes: ReadonlyMap<string, FieldSet | undefined>): FieldSet {
  const result: Nodes = {};
  for (const element in set) {
    const node = nodes.has(element) ? nodes.get(element) : set[element];
    if (node !== undefined) result[element] = node;
  }
  return result;
}

function subtractNode(a: FieldSet, b: FieldSet): FieldSet | undefined {
  const below = difference(a, b);
  const { [self]: mark, ...children } = below;
  if (isMember(a) && !isMember(b)) return below === a ? a : memberOf(children);
  if (isEmptySet(children)) return undefined;
  return mark === undefined ? below : children;
}

/** Returns the members that both sets have. */
export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  const result: Nodes = {};
  for (const element in a) {
    const left = a[element];
    const right = childOf(b, element);
    if (left === undefined || right === undefined || element === self) continue;
    const below = intersection(left, right);
    if (isMember(left) && isMember(right)) result[element] = memberOf(below);
    else if (!isEmptySet(below)) result[element] = below;
  }
  return result;
}

/** Returns the child at a path element. */
export function childOf(set: FieldSet | undefined, element: string): FieldSet | undefined {
  return set !== undefined && Object.hasOwn(set, element) ? set[element] : undefined;
}

/** Yields each member as the list of its path elements; a member comes before the members below it. */
export function* membersOf(set: FieldSet, path: readonly string[] = []): Generator<readonly string[]> {
  for (const element in set) {
    const node = set[element];
    if (element === self || node === undefined) continue;
    const below = [...path, element];
    if (isMember(node)) yield below;
    yield* membersOf(node, below);
  }
}

/** Returns the number of members. */
export function countMembers(set: FieldSet): number {
  let count = 0;
  for (const element in set) {
    const node = set[element];
    if (element === self || node === undefined) continue;
    count += Number(isMember(node)) + countMembers(node);
  }
  return count;
}
