import { deepEqual } from '../../api/index.ts';
import type { FinalState } from './final-state.ts';

/** A difference between the final state of a run and that of the run without faults. */
export interface Difference {
  /** The object, such as `Person ada` or `Badge team/ada`; or the system, such as `external system "mail"`. */
  readonly object: string;
  /** The path, such as `status.greeting` or `spec.tags[1]`; empty for the whole object. */
  readonly path: string;
  /** The value in the run without faults; undefined when it is absent. */
  readonly expected: unknown;
  readonly found: unknown;
}

/** Returns all differences, in the order of the objects. */
export function differencesOf(expected: FinalState, found: FinalState): readonly Difference[] {
  const objects = [...new Set([...expected.keys(), ...found.keys()])].sort();
  return objects.flatMap((object) => [...differing(object, '', expected.get(object), found.get(object))]);
}

function* differing(object: string, path: string, expected: unknown, found: unknown): Generator<Difference> {
  if (deepEqual(expected, found)) return;
  if (!isContainer(expected) || !isContainer(found) || Array.isArray(expected) !== Array.isArray(found)) {
    yield { object, path, expected, found };
    return;
  }
  for (const field of fieldsOf(expected, found)) {
    const below = Array.isArray(expected) ? `${path}[${field}]` : `${path}${path === '' ? '' : '.'}${field}`;
    yield* differing(object, below, Reflect.get(expected, field), Reflect.get(found, field));
  }
}

/** Returns the names of the fields that at least one of the two objects has, with metadata at the end. */
function fieldsOf(expected: object, found: object): readonly string[] {
  const fields = [...new Set([...Object.keys(expected), ...Object.keys(found)])];
  return [...fields.filter((field) => field !== 'metadata'), ...fields.filter((field) => field === 'metadata')];
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** Describes a difference in one line of a message. */
export function describeDifference({ object, path, expected, found }: Difference): string {
  if (path === '') return `${object}: ${expected === undefined ? 'should not exist' : 'is missing'}`;
  return `${object}, ${path}: expected ${textOf(expected)}, found ${textOf(found)}`;
}

function textOf(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value);
}
