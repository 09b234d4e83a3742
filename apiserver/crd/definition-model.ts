import { defineModel } from '@homeostat/controller-runtime/api';
import type { Model, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { clientConfigFields } from '../builtin/webhook-kinds.ts';
import { liveIndex } from '../registry/kinds/live-claim.ts';
import type { CustomResourceDefinition } from './definition.ts';

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const texts = { type: 'array', items: text, 'x-kubernetes-list-type': 'atomic' } as const;
const whole = { type: 'integer' } as const;
const count = { type: 'integer', minimum: 0 } as const;
const free = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } as const;
const anything = { 'x-kubernetes-preserve-unknown-fields': true, nullable: true } as const;
const schema = { $ref: '#/$defs/JSONSchemaProps' } as const;
const schemas = { type: 'array', items: schema } as const;

function fields(properties: object, required: readonly string[] = []): object {
  return { type: 'object', properties, required };
}

function list(properties: object, required: readonly string[] = []): object {
  return { type: 'array', items: fields(properties, required) };
}

/**
 * The keywords that a schema may have. This model checks the types of their values, and checkDefinition their meaning.
 */
const schemaProps = fields({
  title: text,
  description: text,
  type: text,
  format: text,
  nullable: flag,
  default: anything,
  example: anything,
  enum: { type: 'array', items: anything },
  properties: { type: 'object', additionalProperties: schema },
  required: texts,
  additionalProperties: { anyOf: [schema, flag], 'x-kubernetes-preserve-unknown-fields': true },
  minProperties: count,
  maxProperties: count,
  items: schema,
  minItems: count,
  maxItems: count,
  uniqueItems: flag,
  minLength: count,
  maxLength: count,
  pattern: text,
  minimum: { type: 'number' },
  maximum: { type: 'number' },
  exclusiveMinimum: flag,
  exclusiveMaximum: flag,
  multipleOf: { type: 'number', minimum: 0, exclusiveMinimum: true },
  allOf: schemas,
  anyOf: schemas,
  oneOf: schemas,
  not: schema,
  externalDocs: free,
  // The following keywords are declared only so that definitions with them are refused. If they were not declared, they
  // would be pruned.
  id: text,
  $schema: text,
  $ref: text,
  definitions: free,
  dependencies: free,
  patternProperties: free,
  additionalItems: anything,
  'x-kubernetes-preserve-unknown-fields': flag,
  'x-kubernetes-int-or-string': flag,
  'x-kubernetes-embedded-resource': flag,
  'x-kubernetes-list-type': text,
  'x-kubernetes-list-map-keys': texts,
  'x-kubernetes-map-type': text,
  'x-kubernetes-validations': {
    ...list(
      { rule: text, message: text, messageExpression: text, reason: text, fieldPath: text, optionalOldSelf: flag },
      ['rule'],
    ),
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['rule'],
  },
});

const names = fields({
  plural: { ...text, description: 'Path segment; the name of the definition is <plural>.<group>.' },
  singular: { ...text, description: 'Default: the kind in lower case.' },
  kind: { ...text, description: 'PascalCase.' },
  listKind: { ...text, description: 'Default: the kind, followed by List.' },
  shortNames: texts,
  categories: texts,
});

const scale = fields({ specReplicasPath: text, statusReplicasPath: text, labelSelectorPath: text }, [
  'specReplicasPath',
  'statusReplicasPath',
]);

const version = {
  name: text,
  served: { ...flag, description: 'True if clients can use the version.' },
  storage: { ...flag, description: 'True for exactly one version: objects are stored in this version.' },
  deprecated: flag,
  deprecationWarning: text,
  schema: fields({ openAPIV3Schema: schema }),
  subresources: fields({ status: free, scale }),
  additionalPrinterColumns: list(
    { name: text, type: text, format: text, description: text, priority: whole, jsonPath: text },
    ['name', 'type', 'jsonPath'],
  ),
  selectableFields: list({ jsonPath: text }, ['jsonPath']),
};

const webhook = fields({
  clientConfig: fields(clientConfigFields),
  conversionReviewVersions: {
    ...texts,
    description:
      'The versions of ConversionReview that the webhook understands; the server sends the first that is v1 or v1beta1.',
  },
});

const spec = fields(
  {
    group: { ...text, description: 'A domain.' },
    scope: { ...text, description: 'Cluster or Namespaced.' },
    names,
    versions: list(version, ['name', 'served', 'storage']),
    conversion: { ...fields({ strategy: text, webhook }, ['strategy']), default: { strategy: 'None' } },
    preserveUnknownFields: flag,
  },
  ['group', 'scope', 'names', 'versions'],
);

const condition = {
  type: text,
  status: text,
  reason: text,
  message: text,
  observedGeneration: whole,
  lastTransitionTime: { type: 'string', format: 'date-time' },
};

const status = fields({
  conditions: list(condition, ['type', 'status']),
  acceptedNames: names,
  storedVersions: texts,
});

/** The kind CustomResourceDefinition. definition-judge.ts checks the rules that its schema cannot express. */
export const definitionModel: ModelDescriptor<CustomResourceDefinition> = defineModel({
  gvk: 'apiextensions.k8s.io/v1/CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  singular: 'customresourcedefinition',
  nameFormat: 'subdomain',
  subresources: ['status'],
  indexes: [liveIndex],
  shortNames: ['crd', 'crds'],
  categories: ['api-extensions'],
  printerColumns: [{ name: 'Created At', type: 'string', jsonPath: '.metadata.creationTimestamp' }],
  schema: {
    type: 'object',
    properties: { spec, status },
    required: ['spec'],
    $defs: { JSONSchemaProps: schemaProps },
  },
}) as Model as ModelDescriptor<CustomResourceDefinition>;
