import { conditionsSchema, defineModel } from 'homeostat';

const size = { type: 'string', pattern: '^[1-9][0-9]{0,5}(Mi|Gi|Ti)$' } as const;
const spec = { type: 'object', required: ['size'], properties: { size } } as const;

export const EphemeralVolumeClaim = defineModel({
  gvk: 'storage.example.com/v1alpha1/EphemeralVolumeClaim',
  plural: 'ephemeralvolumeclaims',
  scope: 'Namespaced',
  shortNames: ['evc'],
  subresources: ['status'],
  schema: {
    type: 'object',
    required: ['spec'],
    properties: { spec, status: { type: 'object', properties: { conditions: conditionsSchema } } },
  },
});

/** Like Kubernetes' PersistentVolumeClaim: a request for storage. */
export const Volume = defineModel({
  gvk: 'storage.example.com/v1alpha1/Volume',
  plural: 'volumes',
  scope: 'Namespaced',
  subresources: ['status'],
  schema: {
    type: 'object',
    required: ['spec'],
    properties: { spec, status: { type: 'object', properties: { capacity: size, conditions: conditionsSchema } } },
  },
});
