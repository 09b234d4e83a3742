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

/** True for kinds that clients can read and cannot write. */
export function isReadOnly({ group, kind }: ModelDescriptor): boolean {
  return group === serviceKind.group && kind === serviceKind.kind;
}
