import type { Pace } from '../turns/pace.ts';
import type { Steps } from '../turns/steps.ts';
import { difference, intersection, isEmptySet, isMember, leaf, memberOf, union } from './field-set.ts';
import type { FieldSet } from './field-set.ts';

// The operations of field-set.ts, in steps, for sets of any size.

/** The number of nodes of a set that an operation visits in one step, which takes a millisecond or two. */
const nodesPerStep = 4_000;

/** Returns the members of `a` that are not in `b`; `a` itself when no member of `a` is in `b`. */
export function* differenceSteps(a: FieldSet, b: FieldSet): Steps<FieldSet> {
  let rest = a;
  for (const part of partsOf(b)) {
    rest = difference(rest, part);
    yield;
  }
  return rest;
}

/** Returns the union of two sets; `a` itself when `b` adds no member. */
export function* unionSteps(a: FieldSet, b: FieldSet): Steps<FieldSet> {
  let all = a;
  for (const part of partsOf(b)) {
    all = union(all, part);
    yield;
  }
  return all;
}

/** Returns the members that both sets have. */
export function* intersectionSteps(a: FieldSet, b: FieldSet): Steps<FieldSet> {
  let both = leaf;
  for (const part of partsOf(a)) {
    both = union(both, intersection(part, b));
    yield;
  }
  return both;
}

/** Returns the union of all sets. The time is proportional to the sum of their sizes, however many sets there are. */
export function* unionOfAll(sets: readonly FieldSet[], pace: Pace): Steps<FieldSet> {
  const nodes = new Map<string, FieldSet[]>();
  for (const set of sets) {
    for (const element in set) {
      if (pace.isStepOver()) yield;
      const node = set[element];
      if (element === '.' || node === undefined) continue;
      const same = nodes.get(element);
      if (same === undefined) nodes.set(element, [node]);
      else same.push(node);
    }
  }
  const united: Record<string, FieldSet> = {};
  for (const [element, same] of nodes) {
    if (pace.isStepOver()) yield;
    const [first = leaf] = same;
    if (same.length === 1) united[element] = first;
    else if (same.every(isEmptySet)) united[element] = leaf;
    else {
      const below = yield* unionOfAll(same, pace);
      united[element] = same.some(isMember) ? memberOf(below) : below;
    }
  }
  return united;
}

/**
 * Splits a set into parts, whose union is the whole set. A part has at most `maxNodes` nodes. Parts of the same large
 * node repeat the path to this node, and the nodes on this path do not count.
 */
export function* partsOf(set: FieldSet, maxNodes: number = nodesPerStep): Generator<FieldSet> {
  let part: Record<string, FieldSet> = {};
  let nodes = 0;
  for (const element in set) {
    const node = set[element] ?? leaf;
    const size = sizeUpTo(node, maxNodes);
    if (size > maxNodes) {
      for (const below of partsOf(node, maxNodes)) yield { [element]: below };
      continue;
    }
    if (nodes + size > maxNodes) {
      yield part;
      [part, nodes] = [{}, 0];
    }
    part[element] = node;
    nodes += size;
  }
  if (nodes > 0) yield part;
}

/** Returns the number of nodes, or some number above `maxNodes` if the set has more than that. */
function sizeUpTo(set: FieldSet, maxNodes: number): number {
  let size = 1;
  for (const element in set) {
    size += sizeUpTo(set[element] ?? leaf, maxNodes - size);
    if (size > maxNodes) break;
  }
  return size;
}
