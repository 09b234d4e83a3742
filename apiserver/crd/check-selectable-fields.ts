import type { DefinitionSchema, DefinitionVersion } from './definition.ts';
import type { DefinitionViolations } from './definition-violations.ts';

/** The maximum number of selectable fields, as in Kubernetes. Each has an index. */
const maxSelectable = 8;

/**
 * Checks that each selectable field is a string, integer or boolean that the schema declares outside of lists and
 * metadata, and that no field is listed twice.
 */
export function checkSelectableFields(
  field: string,
  { selectableFields = [], schema }: DefinitionVersion,
  violations: DefinitionViolations,
): void {
  if (selectableFields.length > maxSelectable) return violations.tooMany(field, selectableFields.length, maxSelectable);
  const known = new Set<string>();
  for (const [index, { jsonPath }] of selectableFields.entries()) {
    const place = `${field}[${index}].jsonPath`;
    const rule = brokenRule(jsonPath, schema?.openAPIV3Schema);
    if (known.has(jsonPath)) violations.duplicate(place, jsonPath);
    else if (rule !== undefined) violations.invalid(place, jsonPath, rule);
    known.add(jsonPath);
  }
}

function brokenRule(jsonPath: string, root: DefinitionSchema | undefined): string | undefined {
  if (!/^(?:\.[A-Za-z_][\w-]{0,62}){1,16}$/.test(jsonPath))
    return 'is an invalid path: it must be fields joined by dots';
  if (jsonPath.startsWith('.metadata.')) return 'must not point to fields in metadata';
  let schema: DefinitionSchema | undefined = root;
  for (const segment of jsonPath.slice(1).split('.')) {
    const { properties }: DefinitionSchema = schema ?? {};
    schema = properties !== undefined && Object.hasOwn(properties, segment) ? properties[segment] : undefined;
  }
  if (schema === undefined) return 'is an invalid path: does not refer to a valid field';
  const isSelectable = ['string', 'integer', 'boolean'].includes(schema.type ?? '');
  return isSelectable ? undefined : 'must point to a field of type string, boolean or integer';
}
