import { defineModel } from 'homeostat';

/** Each has a thing at a provider. */
export const Machine = defineModel({
  gvk: 'work.example.com/v1/Machine',
  plural: 'machines',
  scope: 'Namespaced',
  schema: {
    type: 'object',
    properties: {
      spec: { type: 'object', properties: { size: { type: 'string' } } },
      status: { type: 'object', properties: { id: { type: 'string' } } },
    },
  } as const,
});

/** The records, as an administrator sees them. */
export const ExternalEffect = defineModel({
  gvk: 'controllers.homeostat.internal/v1alpha1/ExternalEffect',
  plural: 'externaleffects',
  scope: 'Namespaced',
  schema: {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        required: ['controller', 'effect', 'key'],
        properties: { controller: { type: 'string' }, effect: { type: 'string' }, key: { type: 'string' } },
      },
      status: {
        type: 'object',
        properties: {
          completionTime: { type: 'string' },
          expirationTime: { type: 'string' },
          result: { type: 'string' },
        },
      },
    },
    required: ['spec'],
  } as const,
});
