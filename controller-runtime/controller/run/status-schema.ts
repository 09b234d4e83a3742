import type { JsonSchema, ModelDescriptor } from '../../api/index.ts';

const refPrefix = '#/components/schemas/';
/** The maximum length of a chain of references. A longer chain counts as a cycle, and is not followed to its end. */
const maxRefs = 10;

const withStatus = new WeakMap<ModelDescriptor, boolean>();

/** True when the model's schema allows a status. If it does not, the server removes the status from objects. */
export function hasStatus(model: ModelDescriptor): boolean {
  const known = withStatus.get(model);
  if (known !== undefined) return known;
  const schema = model.components[model.schemaName];
  const found = schema === undefined || partsOf(model, schema).some(takesStatus);
  withStatus.set(model, found);
  return found;
}

function takesStatus({ properties, additionalProperties = false, ...schema }: JsonSchema): boolean {
  const isOpen = schema['x-kubernetes-preserve-unknown-fields'] === true || additionalProperties !== false;
  return isOpen || (properties !== undefined && Object.hasOwn(properties, 'status'));
}

/** Returns a schema and the schemas that it combines. The server keeps a field if any of them declares it. */
function partsOf(model: ModelDescriptor, schema: JsonSchema): readonly JsonSchema[] {
  const parts = new Set([schema]);
  for (const { $ref = '', allOf = [], anyOf = [], oneOf = [] } of parts) {
    const referred = model.components[$ref.slice(refPrefix.length)];
    for (const part of [...allOf, ...anyOf, ...oneOf]) parts.add(part);
    if (referred !== undefined) parts.add(referred);
  }
  return [...parts];
}

/** True when the schema of the model's status declares the field. */
export function hasStatusField(model: ModelDescriptor, field: 'observedGeneration' | 'conditions'): boolean {
  return propertyOf(model, propertyOf(model, model.components[model.schemaName], 'status'), field) !== undefined;
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
