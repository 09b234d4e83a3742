import { defineModel } from 'homeostat';

export const Digest = defineModel({
  gvk: 'digests.example.com/v1alpha1/Digest',
  plural: 'digests',
  subresources: ['status'],
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: { type: 'object', required: ['text'], properties: { text: { type: 'string', maxLength: 10_000 } } },
      status: {
        type: 'object',
        properties: {
          sha256: { type: 'string' },
          worker: { type: 'string', description: 'Who made it' },
          observedGeneration: { type: 'integer' },
        },
      },
    },
  },
});
