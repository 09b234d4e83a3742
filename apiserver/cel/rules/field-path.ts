import type { JsonSchema } from '@homeostat/controller-runtime/api';
import { isMapSchema, resolveSchema } from '../schema/schema-source.ts';
import type { Components } from '../schema/schema-source.ts';

const part = /\.([^.[\]']+)|\['((?:[^'\\]|\\[abfnrtv'\\])*)'\]/y;

const escapes: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/**
 * Parses the `fieldPath` of a rule, such as `.spec.replicas` or `['x-y'].z`. Returns the names of its fields; undefined
 * when the text is not a path, or the schema has no such field.
 */
export function readFieldPath(path: string, schema: JsonSchema, components: Components): readonly string[] | undefined {
  const names: string[] = [];
  let at = 0;
  let current: JsonSchema | undefined = resolveSchema(schema, components);
  while (at < path.length) {
    part.lastIndex = at;
    const match = part.exec(path);
    if (match === null || current === undefined) return undefined;
    const name: string = match[1] ?? unescaped(match[2] ?? '');
    const next: JsonSchema | undefined = childOf(current, name);
    current = next === undefined ? undefined : resolveSchema(next, components);
    if (current === undefined) return undefined;
    names.push(name);
    at = part.lastIndex;
  }
  return names;
}

function childOf(schema: JsonSchema, name: string): JsonSchema | undefined {
  if (isMapSchema(schema))
    return typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined;
  const { properties = {} } = schema;
  return Object.hasOwn(properties, name) ? properties[name] : undefined;
}

function unescaped(text: string): string {
  return text.replaceAll(/\\(.)/g, (_found, letter: string) => escapes[letter] ?? letter);
}
