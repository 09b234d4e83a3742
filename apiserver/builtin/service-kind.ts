import { defineModel } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';

/**
 * `v1 Service`, read-only and always empty: this server routes no traffic. The kind exists because
 * `kubectl cluster-info` lists the services of `kube-system`, and fails when the kind is unknown.
 */
export const serviceKind: ModelDescriptor = defineModel({
  gvk: 'v1/Service',
  plural: 'services',
  singular: 'service',
  shortNames: ['svc'],
  scope: 'Namespaced',
  schema: {
    type: 'object',
    description: 'This server routes no traffic, so the list of services is always empty.',
    'x-kubernetes-preserve-unknown-fields': true,
  },
  validate: () => [{ field: 'kind', message: 'Forbidden: this server routes no traffic, so it stores no services' }],
});

const text = { type: 'string' } as const;
const whole = { type: 'integer', format: 'int32' } as const;

/**
 * `apiregistration.k8s.io/v1 APIService`: a version of a group that the server serves. It is read-only, because the
 * server derives it from the served kinds, and forwards no requests to other servers.
 */
export const apiServiceKind: ModelDescriptor = defineModel({
  gvk: 'apiregistration.k8s.io/v1/APIService',
  plural: 'apiservices',
  categories: ['api-extensions'],
  schema: {
    type: 'object',
    description: 'A version of an API group. This server serves all versions itself, so all are available.',
    properties: {
      spec: {
        type: 'object',
        properties: { group: text, version: text, groupPriorityMinimum: whole, versionPriority: whole },
      },
      status: {
        type: 'object',
        properties: {
          conditions: {
            type: 'array',
            'x-kubernetes-list-type': 'map',
            'x-kubernetes-list-map-keys': ['type'],
            items: {
              type: 'object',
              required: ['type', 'status'],
              properties: {
                type: text,
                status: text,
                reason: text,
                message: text,
                lastTransitionTime: { type: 'string', format: 'date-time' },
              },
            },
          },
        },
      },
    },
  },
});

export function isApiServiceKind({ group, kind }: Pick<ModelDescriptor, 'group' | 'kind'>): boolean {
  return group === apiServiceKind.group && kind === apiServiceKind.kind;
}

/** True for kinds that clients can only read. */
export function isReadOnly({ group, kind }: ModelDescriptor): boolean {
  return (group === serviceKind.group && kind === serviceKind.kind) || isApiServiceKind({ group, kind });
}
