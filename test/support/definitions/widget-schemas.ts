import { widgetDefinition, widgetVersion } from './widget-definition.ts';

export type Schema = Readonly<Record<string, unknown>>;

export function times<T>(count: number, make: (at: number) => T): T[] {
  return Array.from({ length: count }, (_, at) => make(at));
}

/** Returns the schema of an object with the given number of properties, `p0` and so on. */
export function withProperties(count: number, make: (at: number) => Schema): Schema {
  return { type: 'object', properties: Object.fromEntries(times(count, (at) => [`p${at}`, make(at)])) };
}

/**
 * Returns the schema of an object with defaults at the given number of levels. The default at each level, except the
 * lowest, adds two objects of the level below.
 */
export function unfoldingDefaults(levels: number): Schema {
  let schema: Schema = { type: 'object', properties: {} };
  for (let level = 0; level < levels; level += 1)
    schema = { type: 'object', default: {}, properties: { a: schema, b: schema } };
  return schema;
}

/** Returns a definition of Widget with the given schema of its spec. */
export function definitionOf(spec: Schema): object {
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } };
  return widgetDefinition({ versions: [widgetVersion({ schema, selectableFields: [] })] });
}
