import type { JsonSchema } from './json-schema.ts';

/** Fields of every object that no author declares (spec 2.2). */
export const envelopeFields: readonly string[] = Object.freeze(['apiVersion', 'kind', 'metadata']);

/**
 * The envelope in a model's schema. Loose and never required, because an object nested in another has the same schema
 * and needs none of it; the registry checks the envelope of the outer object itself.
 */
export const envelopeProperties: Readonly<Record<string, JsonSchema>> = Object.freeze({
  apiVersion: { type: 'string' },
  kind: { type: 'string' },
  metadata: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
});
