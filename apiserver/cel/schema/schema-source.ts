import type { JsonSchema } from '@homeostat/controller-runtime/api';

/** The schemas of a model, by the names that references use. */
export type Components = Readonly<Record<string, JsonSchema>>;

const text: JsonSchema = { type: 'string' };

/**
 * The fields that rules can read in every whole object and embedded resource. They replace declared fields of the same
 * names.
 */
const resourceFields: Readonly<Record<string, JsonSchema>> = {
  apiVersion: text,
  kind: text,
  metadata: {
    type: 'object',
    properties: { name: { type: 'string', maxLength: 253 }, generateName: { type: 'string', maxLength: 253 } },
  },
};

/**
 * Returns the target of a reference. A schema is a reference if it has a `$ref`, or if it has no `type` and its `allOf`
 * has one schema. Other fields beside the reference, such as `nullable`, replace those of the target. If the schema is
 * not a reference, returns it unchanged. If the target does not exist, or a chain has 64 references or more, returns an
 * empty schema.
 */
export function resolveSchema(schema: JsonSchema, components: Components): JsonSchema {
  let found = schema;
  for (let steps = 0; steps < 64; steps += 1) {
    const { $ref, allOf, type } = found;
    const only = type === undefined && allOf?.length === 1 ? allOf[0] : undefined;
    if ($ref === undefined && only === undefined) return found;
    const target = $ref === undefined ? only : components[$ref.split('/').at(-1) ?? ''];
    if (target === undefined) return {};
    const { $ref: _ref, allOf: _allOf, ...own } = found;
    found = { ...target, ...own };
  }
  return {};
}

/** Returns the schema of a whole object, extended by the fields that every object has. */
export function asResource(schema: JsonSchema): JsonSchema {
  return { ...schema, type: 'object', properties: { ...schema.properties, ...resourceFields } };
}

/** True for the schema of a map: an object without declared fields, whose keys clients choose. */
export function isMapSchema({ additionalProperties, properties }: JsonSchema): boolean {
  return typeof additionalProperties === 'object' && Object.keys(properties ?? {}).length === 0;
}
