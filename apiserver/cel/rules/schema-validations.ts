import type { JsonSchema, SchemaRule } from '@homeostat/controller-runtime/api';

/** The rules of a schema; none when it has none. */
export function validationsOf(schema: JsonSchema): readonly SchemaRule[] {
  return schema['x-kubernetes-validations'] ?? [];
}
