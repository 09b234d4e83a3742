import type { Path } from './json.ts';

/** Reads `spec.items[0].name` and `metadata.labels[example.com/a]`, as the server names fields. */
export function parseField(field: string): Path {
  const steps = [...field.matchAll(/\[(\d+)\]|\[["']?([^\]"']+)["']?\]|([^.[\]]+)/g)];
  return steps.map(([, index, key, name]) => (index === undefined ? (key ?? name ?? '') : Number(index)));
}
