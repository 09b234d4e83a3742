import type { DefinitionSchema } from './definition.ts';
import type { DefinitionViolations } from './definition-violations.ts';

/**
 * Checks that the fields and items that `allOf`, `anyOf`, `oneOf` and `not` mention are also specified outside of
 * them.
 */
export function checkCompleteness(field: string, schema: DefinitionSchema, violations: DefinitionViolations): void {
  for (const [place, branch] of branchesOf(schema)) compare(place, branch, { field, schema, violations });
}

interface Outer {
  readonly field: string;
  readonly schema: DefinitionSchema | undefined;
  readonly violations: DefinitionViolations;
}

function compare(place: string, branch: DefinitionSchema, outer: Outer): void {
  const { field, schema, violations } = outer;
  for (const [name, child] of Object.entries(branch.properties ?? {})) {
    const { properties = {} } = schema ?? {};
    const found = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const inner = `${field === '' ? '' : `${field}.`}properties[${name}]`;
    if (found === undefined) violations.required(inner, `because it is defined in ${place}.properties[${name}]`);
    else compare(`${place}.properties[${name}]`, child, { field: inner, schema: found, violations });
  }
  if (branch.items !== undefined) {
    const inner = field === '' ? 'items' : `${field}.items`;
    if (schema?.items === undefined) violations.required(inner, `because it is defined in ${place}.items`);
    else compare(`${place}.items`, branch.items, { field: inner, schema: schema.items, violations });
  }
  for (const [name, child] of branchesOf(branch)) compare(`${place}.${name}`, child, outer);
}

function branchesOf(schema: DefinitionSchema): readonly (readonly [string, DefinitionSchema])[] {
  const { allOf = [], anyOf = [], oneOf = [], not } = schema;
  return [
    ...Object.entries({ allOf, anyOf, oneOf }).flatMap(([keyword, branches]) =>
      branches.map((branch, index) => [`${keyword}[${index}]`, branch] as const),
    ),
    ...(not === undefined ? [] : [['not', not] as const]),
  ];
}
