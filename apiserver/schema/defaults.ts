import type { Shape } from './shape.ts';

type Fields = Record<string, unknown>;

/**
 * Fills in defaults and removes nulls, in place, as Kubernetes does: an absent field gets its default; null counts as
 * absent where the schema does not say `nullable`, and goes when there is no default. Nulls in lists stay without one.
 * Ends for every value, because checkDefaults has seen the shape.
 */
export function fillDefaults(value: object, shape: Shape): void {
  if (Array.isArray(value)) fillItems(value, shape);
  else fillFields(value as Fields, shape);
}

function fillFields(fields: Fields, shape: Shape): void {
  for (const [name, child] of shape.defaults) {
    if (!Object.hasOwn(fields, name)) fields[name] = copyOf(child.defaultValue);
  }
  for (const name in fields) {
    const value = fields[name];
    // Scalars need no look at their schema: neither can they be filled, nor are they null.
    if (typeof value !== 'object') continue;
    const child = shape.properties.get(name) ?? shape.additional;
    if (typeof child !== 'object') continue;
    const kept = value ?? replaceNull(fields, name, child);
    if (typeof kept === 'object' && kept !== null) fillDefaults(kept, child);
  }
}

/** What stands in the field afterwards. */
function replaceNull(fields: Fields, name: string, shape: Shape): unknown {
  if (shape.isNullable) return null;
  if (shape.defaultValue === undefined) delete fields[name];
  else fields[name] = copyOf(shape.defaultValue);
  return fields[name];
}

function fillItems(items: unknown[], { items: shape }: Shape): void {
  if (shape === undefined) return;
  for (let index = 0; index < items.length; index += 1) {
    if (items[index] === null && !shape.isNullable && shape.defaultValue !== undefined)
      items[index] = copyOf(shape.defaultValue);
    const item = items[index];
    if (typeof item === 'object' && item !== null) fillDefaults(item, shape);
  }
}

/** Objects get a default of their own: they are changed in place later. */
function copyOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyOf);
  return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, copyOf(child)]));
}
