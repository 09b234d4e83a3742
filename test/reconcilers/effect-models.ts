import { defineModel } from 'homeostat';

/** A kind whose controller makes a thing at an external provider for each machine. */
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
