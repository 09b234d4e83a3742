import { defineModel } from 'homeostat';

/** Each machine has a thing at a provider. */
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
