import { defineModel } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';

/** The kind of the restart test, with a unique index and an index that is not unique. */
export const Thing: ModelDescriptor = defineModel({
  gvk: 'things.example.com/v1/Thing',
  plural: 'things',
  singular: 'thing',
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        required: ['slug', 'round'],
        properties: { slug: { type: 'string' }, round: { type: 'integer' }, text: { type: 'string' } },
      },
    },
  },
  indexes: [{ path: 'spec.slug', unique: true }, 'spec.round'],
});

export const thingsPath = '/apis/things.example.com/v1/things';
