import type { JsonSchema, SchemaRule } from '@homeostat/controller-runtime/api';

/** Returns the rules of a schema, or an empty list. */
export function validationsOf(schema: JsonSchema): readonly SchemaRule[] {
  return schema['x-kubernetes-validations'] ?? [];
}
