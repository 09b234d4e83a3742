import { defineModel } from 'homeostat';

export const Machine = defineModel({
  gvk: 'cloud.example.com/v1alpha1/Machine',
  plural: 'machines',
  subresources: ['status'],
  printerColumns: [
    { name: 'Size', type: 'string', jsonPath: '.spec.size' },
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Address', type: 'string', jsonPath: '.status.address' },
  ],
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      // The cloud decides which sizes exist.
      spec: { type: 'object', required: ['size'], properties: { size: { type: 'string', maxLength: 63 } } },
      status: {
        type: 'object',
        properties: {
          phase: { type: 'string', enum: ['Starting', 'Running', 'Refused'] },
          address: { type: 'string' },
          message: { type: 'string', description: 'Why the cloud refuses the machine' },
          observedGeneration: { type: 'integer' },
        },
      },
    },
  },
});
