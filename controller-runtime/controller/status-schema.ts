import type { JsonSchema, ModelDescriptor } from '../api/index.ts';

const refPrefix = '#/components/schemas/';
/** References to references; more would be a cycle. */
const maxRefs = 10;

/** Whether the model's status schema has a property `observedGeneration`. */
export function hasObservedGeneration(model: ModelDescriptor): boolean {
  return (
    propertyOf(model, propertyOf(model, model.components[model.schemaName], 'status'), 'observedGeneration') !==
    undefined
  );
}

function propertyOf(model: ModelDescriptor, schema: JsonSchema | undefined, name: string): JsonSchema | undefined {
  const resolved = resolve(model, schema);
  const own = resolved?.properties?.[name];
  if (own !== undefined) return own;
  for (const part of resolved?.allOf ?? []) {
    const inherited = resolve(model, part)?.properties?.[name];
    if (inherited !== undefined) return inherited;
  }
  return undefined;
}

function resolve(model: ModelDescriptor, schema: JsonSchema | undefined): JsonSchema | undefined {
  let found = schema;
  for (let refs = 0; refs < maxRefs && found?.$ref?.startsWith(refPrefix) === true; refs += 1) {
    found = model.components[found.$ref.slice(refPrefix.length)];
  }
  return found;
}
