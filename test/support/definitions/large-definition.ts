import { widgetDefinition, widgetVersion } from './widget-definition.ts';

interface SchemaNode {
  readonly type: string;
  readonly description?: string;
  properties?: Record<string, SchemaNode>;
  items?: SchemaNode;
}

/** The number of fields of each object in the schema. */
const fieldsPerObject = 12;

/**
 * Returns the schema of an object with about `nodes` nested schemas, like those of generated definitions: objects in
 * objects and in lists, with scalars between them. Each nested schema has a description, unless `descriptionLength` is
 * 0. `spec.f0` to `spec.f2` are objects, `f3` and `f4` lists of objects, and the other fields are scalars.
 */
function largeSchema(nodes: number, descriptionLength = 60): object {
  const described = descriptionLength === 0 ? {} : { description: 'd'.repeat(descriptionLength) };
  let left = nodes - 2;
  const spec: SchemaNode = { type: 'object', ...described, properties: {} };
  const open: SchemaNode[] = [spec];
  for (let object = open.shift(); object !== undefined && left > 0; object = open.shift()) {
    for (let at = 0; at < fieldsPerObject && left > 0; at += 1) {
      left -= 1;
      const field: SchemaNode = { type: at < 3 ? 'object' : at < 5 ? 'array' : scalarAt(at), ...described };
      (object.properties ??= {})[`f${at}`] = field;
      if (at < 3) open.push(field);
      if (at === 3 || at === 4) {
        left -= 1;
        field.items = { type: 'object', ...described };
        open.push(field.items);
      }
    }
  }
  return { type: 'object', properties: { spec } };
}

function scalarAt(at: number): string {
  return at % 3 === 0 ? 'integer' : at % 3 === 1 ? 'boolean' : 'string';
}

/** Returns a definition of Widget with a schema of the given number of nodes. */
export function largeDefinition(nodes: number, descriptionLength?: number): object {
  const openAPIV3Schema = largeSchema(nodes, descriptionLength);
  return widgetDefinition({ versions: [widgetVersion({ schema: { openAPIV3Schema }, selectableFields: [] })] });
}
