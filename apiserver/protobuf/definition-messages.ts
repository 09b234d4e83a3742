import { clientConfig } from './admission-messages.ts';
import { eitherFields } from './message.ts';
import type { Message, MessageField } from './message.ts';
import { message, metadata } from './metadata-message.ts';

const validationRule = message({
  1: ['rule', 'string'],
  2: ['message', 'string'],
  3: ['messageExpression', 'string'],
  4: ['reason', 'string', 'optional'],
  5: ['fieldPath', 'string'],
  6: ['optionalOldSelf', 'boolean', 'optional'],
});

/** The message of a schema. Its fields are added below, because a schema contains other schemas. */
const schemaFields = new Map<number, MessageField>();
const schema: Message = schemaFields;

const schemaOrList = message({ 1: [eitherFields.object, schema], 2: [eitherFields.list, schema, 'list'] });
const schemaOrFlag = message({ 1: [eitherFields.flag, 'boolean'], 2: [eitherFields.object, schema] });
const schemaOrTexts = message({ 1: [eitherFields.object, schema], 2: [eitherFields.list, 'string', 'list'] });

const fieldsOfSchema = message({
  1: ['id', 'string'],
  2: ['$schema', 'string'],
  3: ['$ref', 'string', 'optional'],
  4: ['description', 'string'],
  5: ['type', 'string'],
  6: ['format', 'string'],
  7: ['title', 'string'],
  8: ['default', 'json', 'optional'],
  9: ['maximum', 'double', 'optional'],
  10: ['exclusiveMaximum', 'boolean'],
  11: ['minimum', 'double', 'optional'],
  12: ['exclusiveMinimum', 'boolean'],
  13: ['maxLength', 'integer', 'optional'],
  14: ['minLength', 'integer', 'optional'],
  15: ['pattern', 'string'],
  16: ['maxItems', 'integer', 'optional'],
  17: ['minItems', 'integer', 'optional'],
  18: ['uniqueItems', 'boolean'],
  19: ['multipleOf', 'double', 'optional'],
  20: ['enum', 'json', 'list'],
  21: ['maxProperties', 'integer', 'optional'],
  22: ['minProperties', 'integer', 'optional'],
  23: ['required', 'string', 'list'],
  24: ['items', schemaOrList, 'either'],
  25: ['allOf', schema, 'list'],
  26: ['oneOf', schema, 'list'],
  27: ['anyOf', schema, 'list'],
  28: ['not', schema],
  29: ['properties', schema, 'map'],
  30: ['additionalProperties', schemaOrFlag, 'either'],
  31: ['patternProperties', schema, 'map'],
  32: ['dependencies', schemaOrTexts, 'map'],
  33: ['additionalItems', schemaOrFlag, 'either'],
  34: ['definitions', schema, 'map'],
  35: ['externalDocs', message({ 1: ['description', 'string'], 2: ['url', 'string'] })],
  36: ['example', 'json', 'optional'],
  37: ['nullable', 'boolean'],
  38: ['x-kubernetes-preserve-unknown-fields', 'boolean', 'optional'],
  39: ['x-kubernetes-embedded-resource', 'boolean'],
  40: ['x-kubernetes-int-or-string', 'boolean'],
  41: ['x-kubernetes-list-map-keys', 'string', 'list'],
  42: ['x-kubernetes-list-type', 'string', 'optional'],
  43: ['x-kubernetes-map-type', 'string', 'optional'],
  44: ['x-kubernetes-validations', validationRule, 'list'],
});
for (const [number, field] of fieldsOfSchema) schemaFields.set(number, field);

const names = message({
  1: ['plural', 'string'],
  2: ['singular', 'string'],
  3: ['shortNames', 'string', 'list'],
  4: ['kind', 'string'],
  5: ['listKind', 'string'],
  6: ['categories', 'string', 'list'],
});

const column = message({
  1: ['name', 'string'],
  2: ['type', 'string'],
  3: ['format', 'string'],
  4: ['description', 'string'],
  5: ['priority', 'integer'],
  6: ['jsonPath', 'string'],
});

const scale = message({
  1: ['specReplicasPath', 'string'],
  2: ['statusReplicasPath', 'string'],
  3: ['labelSelectorPath', 'string', 'optional'],
});

const version = message({
  1: ['name', 'string'],
  2: ['served', 'boolean', 'optional'],
  3: ['storage', 'boolean', 'optional'],
  4: ['schema', message({ 1: ['openAPIV3Schema', schema] })],
  5: ['subresources', message({ 1: ['status', message({})], 2: ['scale', scale] })],
  6: ['additionalPrinterColumns', column, 'list'],
  7: ['deprecated', 'boolean'],
  8: ['deprecationWarning', 'string', 'optional'],
  9: ['selectableFields', message({ 1: ['jsonPath', 'string'] }), 'list'],
});

const conversionWebhook = message({
  2: ['clientConfig', clientConfig],
  3: ['conversionReviewVersions', 'string', 'list'],
});

const spec = message({
  1: ['group', 'string'],
  3: ['names', names],
  4: ['scope', 'string'],
  7: ['versions', version, 'list'],
  9: ['conversion', message({ 1: ['strategy', 'string'], 2: ['webhook', conversionWebhook] })],
  10: ['preserveUnknownFields', 'boolean'],
});

const condition = message({
  1: ['type', 'string'],
  2: ['status', 'string'],
  3: ['lastTransitionTime', 'time'],
  4: ['reason', 'string'],
  5: ['message', 'string'],
});

const status = message({
  1: ['conditions', condition, 'list'],
  2: ['acceptedNames', names],
  3: ['storedVersions', 'string', 'list'],
});

/** The messages of definitions, by apiVersion and kind. */
export const definitionMessages: Readonly<Record<string, Message>> = {
  'apiextensions.k8s.io/v1/CustomResourceDefinition': message({
    1: ['metadata', metadata],
    2: ['spec', spec],
    3: ['status', status],
  }),
};
