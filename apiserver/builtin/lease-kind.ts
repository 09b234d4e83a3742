import { defineModel } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';

const time = { type: 'string', format: 'date-time', nullable: true } as const;

const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        holderIdentity: { type: 'string', description: 'Who holds the lease; empty: nobody.' },
        leaseDurationSeconds: { type: 'integer', minimum: 1, description: 'How long others wait after renewTime.' },
        acquireTime: time,
        renewTime: time,
        leaseTransitions: { type: 'integer', minimum: 0, description: 'How often the holder has changed.' },
        strategy: { type: 'string' },
        preferredHolder: { type: 'string' },
      },
    },
  },
} as const;

/** `coordination.k8s.io/v1 Lease`: what the leader election of Kubernetes' clients writes. */
export const leaseKind: ModelDescriptor = defineModel({
  gvk: 'coordination.k8s.io/v1/Lease',
  plural: 'leases',
  scope: 'Namespaced',
  nameFormat: 'subdomain',
  printerColumns: [
    { name: 'Holder', type: 'string', jsonPath: '.spec.holderIdentity', description: 'Who holds the lease.' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  schema,
});
