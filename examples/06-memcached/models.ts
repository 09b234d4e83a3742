import { conditionsSchema, defineModel } from 'homeostat';

const names = { type: 'array', items: { type: 'string', maxLength: 253 }, maxItems: 10 } as const;

export const Memcached = defineModel({
  gvk: 'cache.example.com/v1alpha1/Memcached',
  plural: 'memcacheds',
  scope: 'Namespaced',
  subresources: ['status'],
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: { type: 'object', required: ['size'], properties: { size: { type: 'integer', minimum: 1, maximum: 10 } } },
      status: { type: 'object', properties: { nodes: names, conditions: conditionsSchema } },
    },
  },
});

/** Like Kubernetes' Deployment: a number of running copies of an image. */
export const Workload = defineModel({
  gvk: 'cache.example.com/v1alpha1/Workload',
  plural: 'workloads',
  scope: 'Namespaced',
  subresources: ['status'],
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        required: ['image', 'replicas'],
        properties: {
          image: { type: 'string', maxLength: 200 },
          replicas: { type: 'integer', minimum: 0, maximum: 10 },
        },
      },
      status: { type: 'object', properties: { pods: names, conditions: conditionsSchema } },
    },
  },
});
