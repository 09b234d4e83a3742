import type { JsonSchema } from '@homeostat/controller-runtime/api';

type Components = Readonly<Record<string, JsonSchema>>;

/**
 * The maximum number of schemas and enum values of a model for which code is generated. ajv takes 0.1 ms for each
 * schema, and more in large schemas. It nests an `if` for each property, and 2,000 nested `if` statements overflow the
 * stack.
 */
const maxCompiled = 300;

/** Returns true when a model has too many schemas to generate code. Stops counting as soon as this is known. */
export function isLargeSchema(components: Components): boolean {
  let size = 0;
  for (const schema of allSchemas(components)) {
    size += 1 + (schema.enum?.length ?? 0);
    if (size > maxCompiled) return true;
  }
  return false;
}

/** Yields every schema of a model, without recursion. Does not follow references. */
export function* allSchemas(components: Components): Iterable<JsonSchema> {
  const open: JsonSchema[] = Object.values(components);
  for (let schema = open.pop(); schema !== undefined; schema = open.pop()) {
    yield schema;
    pushChildren(schema, open);
  }
}

function pushChildren(schema: JsonSchema, open: JsonSchema[]): void {
  const { properties, additionalProperties, items, allOf, anyOf, oneOf, not } = schema;
  if (properties !== undefined) for (const property of Object.values(properties)) open.push(property);
  if (typeof additionalProperties === 'object') open.push(additionalProperties);
  if (items !== undefined) open.push(items);
  for (const branches of [allOf, anyOf, oneOf]) for (const branch of branches ?? []) open.push(branch);
  if (not !== undefined) open.push(not);
}
