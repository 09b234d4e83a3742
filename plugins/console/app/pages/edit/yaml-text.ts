import { dump, load, YAMLException } from 'js-yaml';
import { isObject } from '../../base/json.ts';
import type { Json, JsonObject } from '../../base/json.ts';
import type { Mistake } from '../../base/mistake.ts';

/** An object as the text of the editor. */
export function formatYaml(object: Json): string {
  return dump(object, { lineWidth: 120, noRefs: true });
}

export type ParsedYaml = { readonly object: JsonObject } | { readonly mistake: Mistake };

/** The object of a text, or what is wrong with it. */
export function parseYaml(text: string): ParsedYaml {
  try {
    const object: unknown = load(text);
    if (isObject(object)) return { object };
    return { mistake: { line: 1, message: 'must be an object: fields with values' } };
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const line = error.mark?.line ?? 0;
    return { mistake: { line: line + 1, message: error.reason } };
  }
}
