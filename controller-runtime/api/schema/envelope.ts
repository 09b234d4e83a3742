import type { JsonSchema } from './json-schema.ts';

/** Fields of every object that no author declares (spec 2.2). */
export const envelopeFields: readonly string[] = Object.freeze(['apiVersion', 'kind', 'metadata']);

/**
 * The envelope in a model's schema. The schemas of its fields are loose, and no field is required, because an object
 * that is nested in another one has the same schema without an envelope. The registry itself checks the envelope of the
 * outer object.
 */
export const envelopeProperties: Readonly<Record<string, JsonSchema>> = Object.freeze({
  apiVersion: { type: 'string' },
  kind: { type: 'string' },
  metadata: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
});
