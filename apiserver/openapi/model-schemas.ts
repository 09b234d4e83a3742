import { apiVersionOf, isJsonObject } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { Steps } from '../turns/steps.ts';
import type { ComponentNames } from './component-names.ts';
import { meta } from './meta-schemas.ts';
import type { OpenApiSchema } from './open-api.ts';
import { schemaReference } from './open-api.ts';
import { openApiSchema } from './open-api-schema.ts';

const referencePrefix = '#/components/schemas/';

/**
 * Returns the schemas of a model for OpenAPI documents, by name: one for each schema in `model.components`, and one for
 * lists of the kind.
 */
export function* modelSchemas(
  model: ModelDescriptor,
  names: ComponentNames,
): Steps<Readonly<Record<string, OpenApiSchema>>> {
  const nameOf = (reference: string): string | undefined => {
    const component = reference.slice(referencePrefix.length);
    const isKnown = reference.startsWith(referencePrefix) && Object.hasOwn(model.components, component);
    return isKnown ? names.of(model, component) : undefined;
  };
  const schemas: Record<string, OpenApiSchema> = {};
  for (const [component, schema] of Object.entries(model.components)) {
    const portable = yield* openApiSchema(schema, nameOf);
    schemas[names.of(model, component)] = component === model.schemaName ? withEnvelope(model, portable) : portable;
  }
  schemas[names.ofList(model)] = listSchema(model, names);
  return schemas;
}

/** Returns the schema of the object with its group, version and kind, by which `kubectl explain` finds the schema. */
function withEnvelope(model: ModelDescriptor, schema: OpenApiSchema): OpenApiSchema {
  const { group, version, kind } = model;
  const declared = schema['properties'];
  const properties = {
    ...(isJsonObject(declared) ? declared : {}),
    apiVersion: { type: 'string', description: 'Group and version.', example: apiVersionOf(model) },
    kind: { type: 'string', description: 'The kind of the object.', example: kind },
    metadata: schemaReference(meta.objectMeta),
  };
  return { ...schema, properties, 'x-kubernetes-group-version-kind': [{ group, version, kind }] };
}

function listSchema(model: ModelDescriptor, names: ComponentNames): OpenApiSchema {
  const { group, version, kind } = model;
  const count = { type: 'integer', minimum: 0 };
  const flag = { type: 'boolean' };
  return {
    type: 'object',
    description: `A list of ${kind}, with the fields of a Kubernetes list, and page numbers and totals.`,
    required: ['apiVersion', 'kind', 'metadata', 'page', 'size', 'total', 'totalPages', 'items'],
    properties: {
      apiVersion: { type: 'string', example: apiVersionOf(model) },
      kind: { type: 'string', example: `${kind}List` },
      metadata: schemaReference(meta.listMeta),
      page: { type: 'integer', minimum: 1, description: 'From 1.' },
      size: { ...count, description: '0: not paged.' },
      total: { ...count, description: 'The number of matches on all pages.' },
      totalPages: count,
      first: flag,
      last: flag,
      hasNext: flag,
      hasPrevious: flag,
      items: { type: 'array', items: schemaReference(names.of(model, model.schemaName)) },
    },
    'x-kubernetes-group-version-kind': [{ group, version, kind: `${kind}List` }],
  };
}
