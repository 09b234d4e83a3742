import { dump, load, YAMLException } from 'js-yaml';
import { isObject } from '../../base/json.ts';
import type { Json, JsonObject } from '../../base/json.ts';
import type { Mistake } from '../../base/mistake.ts';

export type TextFormat = 'yaml' | 'json';

/** Returns an object as text for the editor. */
export function formatText(object: Json, format: TextFormat = 'yaml'): string {
  return format === 'json' ? `${JSON.stringify(object, null, 2)}\n` : dump(object, { lineWidth: 120, noRefs: true });
}

type ParsedText = { readonly object: JsonObject } | { readonly mistake: Mistake };

/** Parses a text, and returns its object or its mistake. JSON is parsed as YAML, because JSON is a subset of YAML. */
export function parseText(text: string): ParsedText {
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
