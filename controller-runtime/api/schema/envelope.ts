import type { JsonSchema } from './json-schema.ts';

/** The fields that every object has. Authors must not declare them in a schema (specification, section 2.2). */
export const envelopeFields: readonly string[] = Object.freeze(['apiVersion', 'kind', 'metadata']);

/**
 * The schemas of apiVersion, kind and metadata in the schema of a model. They accept every string and every object, and
 * require no field, because a model can refer to itself: then the same schema also describes a nested object, which has
 * no envelope. The registry checks the envelope of the outer object.
 */
export const envelopeProperties: Readonly<Record<string, JsonSchema>> = Object.freeze({
  apiVersion: { type: 'string' },
  kind: { type: 'string' },
  metadata: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
});
