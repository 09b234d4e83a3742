import { isJsonObject } from '@homeostat/controller-runtime/api';
import { canonicalJson, type Identity } from '../schema/judge/distinct.ts';

/**
 * Returns the path element of an item of a list. In a list of type map, the element contains the item's keys; an absent
 * key has its default value, if the schema has one. In a list of type set, and for an item that is not an object, the
 * element contains the item itself.
 */
export function itemElement(item: unknown, identity: Identity, defaultOf: (key: string) => unknown): string {
  if (identity.kind === 'set' || !isJsonObject(item)) return `v:${canonicalJson(item)}`;
  const keys: Record<string, unknown> = {};
  for (const key of identity.keys) {
    const value = Object.hasOwn(item, key) ? item[key] : defaultOf(key);
    if (value !== undefined) keys[key] = value;
  }
  return `k:${canonicalJson(keys)}`;
}

/**
 * Parses a path element that a client sent. Returns it in its canonical spelling, so that equal elements are equal
 * strings; undefined when it is malformed.
 */
export function parseElement(text: string): string | undefined {
  const kind = text.slice(0, 2);
  if (kind === 'f:') return text;
  if (kind === 'i:') return /^i:\d{1,9}$/.test(text) ? text : undefined;
  if (kind !== 'k:' && kind !== 'v:') return undefined;
  try {
    const value: unknown = JSON.parse(text.slice(2));
    return kind === 'v:' || isJsonObject(value) ? `${kind}${canonicalJson(value)}` : undefined;
  } catch {
    return undefined;
  }
}

/** Formats a path as Kubernetes does in the message of a conflict: `.spec.ports[port=80,protocol="TCP"].name`. */
export function formatFieldPath(path: readonly string[]): string {
  return path.map(formatElement).join('');
}

function formatElement(element: string): string {
  const rest = element.slice(2);
  if (element.startsWith('f:')) return `.${rest}`;
  if (element.startsWith('v:')) return `[=${rest}]`;
  if (element.startsWith('i:')) return `[${rest}]`;
  const keys: unknown = JSON.parse(rest);
  const fields = isJsonObject(keys) ? Object.entries(keys) : [];
  return `[${fields.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(',')}]`;
}
