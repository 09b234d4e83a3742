import { ApiError } from '@homeostat/controller-runtime/api';
import type { ApiObject, ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { Entry } from '../index/entry.ts';
import { brokenObject } from '../registry/object/broken-object.ts';
import { liveClaim } from '../registry/kinds/live-claim.ts';
import type { CreationRule } from '../registry/kinds/live-claim.ts';
import { notFound, resourceName } from '../registry/object/resource-errors.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import { notReady } from '../registry/kinds/resource.ts';
import { namespaceKind } from './namespace-kind.ts';

/**
 * Returns the rule that an object of a Namespaced kind is created only in a namespace that exists and is not being
 * deleted: the namespace holds a claim, which each creation requires, see {@link liveClaim}. The rule throws ApiError
 * NotFound for an absent namespace, Forbidden for one that is being deleted, InternalError for one that cannot be read,
 * and ServiceUnavailable while namespaces are not served yet.
 */
export function namespaceAdmission(table: ResourceTable): CreationRule {
  const getNamespaces = table.getterOf(namespaceKind);
  return {
    covers: ({ model }) => model.scope === 'Namespaced',
    claimOf({ model }, object) {
      const namespaces = getNamespaces();
      if (namespaces === undefined) throw notReady(namespaceKind);
      const { namespace = '' } = object.metadata;
      const broken = namespaces.cache.broken.get(namespace);
      if (broken !== undefined) throw brokenObject(namespaces.model, broken);
      return liveClaim(namespaces, openNamespace(model, object, namespaces.cache.get(namespace)));
    },
  };
}

function openNamespace(model: ModelDescriptor, object: ApiObject, entry: Entry | undefined): Entry {
  const { name, namespace = '' } = object.metadata;
  if (entry === undefined) throw notFound(namespaceKind, namespace);
  if (entry.deletion === undefined) return entry;
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
