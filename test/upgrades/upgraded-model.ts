import { defineModel } from '@homeostat/controller-runtime/api';

/** The kind of the objects in the databases of former versions. It must not change. */
export const upgradedMachine = defineModel({
  gvk: 'upgrades.example.com/v1/Machine',
  plural: 'machines',
  schema: {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: { slug: { type: 'string' }, size: { type: 'integer' }, note: { type: 'string' } },
      },
    },
  },
  indexes: [{ path: 'spec.slug', unique: true }, 'spec.size'],
});

export const machinesPath = '/apis/upgrades.example.com/v1/machines';

/** The paths of the lists that are compared before and after an upgrade. */
export const comparedPaths: readonly string[] = [
  machinesPath,
  '/api/v1/configmaps',
  '/api/v1/namespaces',
  '/api/v1/serviceaccounts',
  '/apis/rbac.authorization.k8s.io/v1/clusterroles',
];
