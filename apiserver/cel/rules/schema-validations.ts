import type { JsonSchema, SchemaRule } from '@homeostat/controller-runtime/api';

/** Returns the rules of a schema; an empty list when it has none. */
export function validationsOf(schema: JsonSchema): readonly SchemaRule[] {
  return schema['x-kubernetes-validations'] ?? [];
}
