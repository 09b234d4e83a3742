import { compareCodePoints } from '../../api/index.ts';
import type { CallFault, ExternalSystem } from '../fakes/external-system.ts';

/** A fault that a check injects into a call to an external system: the call fails, or its response is lost. */
export type SweptCallFault = CallFault & { readonly kind: 'fail' | 'loseAnswer' };

/** Returns the name of an external system for reports of differences and faults. */
export function labelOfSystem({ name }: Pick<ExternalSystem, 'name'>): string {
  return `external system "${name}"`;
}

/**
 * Checks that all systems have different names, because reports identify a system by its name. Throws TypeError when
 * two have the same name.
 */
export function checkSystemNames(systems: readonly ExternalSystem[]): void {
  const names = systems.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new TypeError(`externalSystems has "${twice}" twice: give each system its own name`);
}

/** Returns the number of calls that all systems together have received since their last reset. */
export function callsOf(systems: readonly ExternalSystem[]): number {
  return systems.reduce((sum, { calls }) => sum + calls.length, 0);
}

/**
 * Injects the faults of a plan into calls to the systems. Calls are counted from 1 over all systems. `onFault` is
 * called with a line for each fault.
 */
export function injectCallFaults(
  systems: readonly ExternalSystem[],
  atCall: ReadonlyMap<number, SweptCallFault>,
  onFault: (fault: string) => void,
): void {
  for (const [place, fault] of atCall) {
    for (const system of systems) {
      system.inject(fault, ({ operation }) => {
        if (callsOf(systems) !== place) return false;
        const words = fault.kind === 'fail' ? 'failure of' : 'a lost response to';
        onFault(`${words} call ${place}, ${operation} of ${labelOfSystem(system)}`);
        return true;
      });
    }
  }
}

/**
 * Returns the state as plain objects and arrays, with `wordOf` applied to all strings. Keys that `wordOf` makes equal
 * are numbered in the order of their values, so that no value is lost.
 */
export function plainState(value: unknown, wordOf: (text: string) => string): unknown {
  const plain = (each: unknown): unknown => plainState(each, wordOf);
  if (typeof value === 'string') return wordOf(value);
  if (value instanceof Date) return wordOf(value.toISOString());
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Set) return [...value].map(plain).toSorted(byContent);
  if (value instanceof Map) {
    return uniqueKeys([...value].map(([key, item]) => [wordOf(String(key)), plain(item)] as const));
  }
  if (typeof value !== 'object' || value === null) return value;
  return uniqueKeys(Object.entries(value).map(([key, item]) => [wordOf(key), plain(item)] as const));
}

function uniqueKeys(entries: readonly (readonly [string, unknown])[]): object {
  const counts = new Map<string, number>();
  const numbered = entries
    .toSorted((a, b) => byContent(a, b))
    .map(([key, value]) => {
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      return [count === 1 ? key : `${key} (${count})`, value] as const;
    });
  return Object.fromEntries(numbered);
}

function byContent(a: unknown, b: unknown): number {
  return compareCodePoints(JSON.stringify(a) ?? '', JSON.stringify(b) ?? '');
}
