import { ApiError } from '@homeostat/controller-runtime/api';
import type { ApiObject, ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { Entry } from '../index/entry.ts';
import type { RegistryOptions } from '../registry/registry.ts';
import { brokenObject } from '../registry/broken-object.ts';
import { notFound, resourceName } from '../registry/resource-errors.ts';
import type { ResourceTable } from '../registry/resource-table.ts';
import { notReady } from '../registry/resource.ts';
import { namespaceKind } from './namespace-kind.ts';

/**
 * Lets objects of Namespaced kinds be created in a namespace that is there, and not on its way out. Throws ApiError NotFound,
 * naming the namespace, Forbidden, or ServiceUnavailable while namespaces are not served yet.
 */
export function namespaceAdmission(table: ResourceTable): NonNullable<RegistryOptions['admit']> {
  return ({ model }, object) => {
    if (model.scope !== 'Namespaced') return;
    const namespaces = table.get(namespaceKind);
    if (namespaces === undefined) throw notReady(namespaceKind);
    const { namespace = '' } = object.metadata;
    const broken = namespaces.cache.broken.get(namespace);
    if (broken !== undefined) throw brokenObject(namespaces.model, broken);
    admit(model, object, namespaces.cache.get(namespace));
  };
}

function admit(model: ModelDescriptor, object: ApiObject, entry: Entry | undefined): void {
  const { name, namespace = '' } = object.metadata;
  if (entry === undefined) throw notFound(namespaceKind, namespace);
  if (entry.deletion === undefined) return;
  const { group, plural } = model;
  const message = `unable to create new content in namespace ${namespace} because it is being terminated`;
  throw new ApiError('Forbidden', `${resourceName(model)} "${name}" is forbidden: ${message}`, {
    details: { name, group, kind: plural },
    causes: [
      {
        reason: 'NamespaceTerminating',
        message: `namespace ${namespace} is being terminated`,
        field: 'metadata.namespace',
      },
    ],
  });
}
