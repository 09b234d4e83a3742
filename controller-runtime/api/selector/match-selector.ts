import { wholeNumber } from './selector.ts';
import type { Requirement, Selector } from './selector.ts';

/** The length of a list at which a lookup in a hash set becomes faster than a search of the list. */
const smallList = 16;

const sets = new WeakMap<readonly string[], ReadonlySet<string>>();

/** True when the labels meet every requirement. Absent labels count as an empty map. */
export function matchesLabels(selector: Selector, labels: Readonly<Record<string, string>> | undefined): boolean {
  return selector.every((requirement) => matchesValues(requirement, labelValues(labels, requirement.key)));
}

/**
 * True when the values that an object has under an index meet the requirement. `in` is met when one of the values is in
 * the set. `notin` is met exactly when `in` is not, and `absent` exactly when `exists` is not, so an object without
 * values meets `notin` and `absent`. `gt` and `lt` compare whole numbers; a value that is not a whole number does not
 * match.
 */
export function matchesValues(requirement: Requirement, values: readonly string[]): boolean {
  switch (requirement.operator) {
    case 'exists':
      return values.length > 0;
    case 'absent':
      return values.length === 0;
    case 'in':
      return values.some((value) => isListed(requirement.values, value));
    case 'notin':
      return !values.some((value) => isListed(requirement.values, value));
    case 'gt':
    case 'lt':
      return values.some((value) => isBeyond(requirement, value));
  }
}

function labelValues(labels: Readonly<Record<string, string>> | undefined, key: string): readonly string[] {
  const value = labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined;
  return value === undefined ? [] : [value];
}

function isListed(list: readonly string[], value: string): boolean {
  if (list.length < smallList) return list.includes(value);
  let set = sets.get(list);
  if (set === undefined) {
    set = new Set(list);
    sets.set(list, set);
  }
  return set.has(value);
}

function isBeyond({ operator, values }: Requirement, value: string): boolean {
  const limit = wholeNumber(values[0] ?? '');
  const number = wholeNumber(value);
  if (limit === undefined || number === undefined) return false;
  return operator === 'gt' ? number > limit : number < limit;
}
