import { widgetDefinition, widgetVersion } from './widget-definition.ts';

export type Schema = Readonly<Record<string, unknown>>;

export function times<T>(count: number, make: (at: number) => T): T[] {
  return Array.from({ length: count }, (_, at) => make(at));
}

/** An object with this many properties, `p0` and so on. */
export function withProperties(count: number, make: (at: number) => Schema): Schema {
  return { type: 'object', properties: Object.fromEntries(times(count, (at) => [`p${at}`, make(at)])) };
}

/** An object with a default at each of this many levels, which adds two objects of the level below. */
export function unfoldingDefaults(levels: number): Schema {
  let schema: Schema = { type: 'object', properties: {} };
  for (let level = 0; level < levels; level += 1)
    schema = { type: 'object', default: {}, properties: { a: schema, b: schema } };
  return schema;
}

/** The definition of Widget with a schema of its spec. */
export function definitionOf(spec: Schema): object {
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } };
  return widgetDefinition({ versions: [widgetVersion({ schema, selectableFields: [] })] });
}
