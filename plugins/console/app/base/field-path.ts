import type { Path } from './json.ts';

/**
 * Parses the name of a field as the server writes it, such as `spec.items[0].name` or `metadata.labels[example.com/a]`.
 */
export function parseField(field: string): Path {
  const steps = [...field.matchAll(/\[(\d+)\]|\[["']?([^\]"']+)["']?\]|([^.[\]]+)/g)];
  return steps.map(([, index, key, name]) => (index === undefined ? (key ?? name ?? '') : Number(index)));
}
