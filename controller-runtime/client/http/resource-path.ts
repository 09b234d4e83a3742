import { ApiError, apiVersionOf, checkDnsSubdomain } from '../../api/index.ts';
import type { ModelDescriptor } from '../../api/index.ts';

/** The part of a model that its URLs are made of. */
export type Resource = Pick<ModelDescriptor, 'group' | 'version' | 'kind' | 'plural' | 'scope'>;

/** `/apis/<group>/<version>`, for the core group `/api/<version>`. */
export function groupVersionPath(gv: { readonly group: string; readonly version: string }): string {
  return `${gv.group === '' ? '/api' : '/apis'}/${apiVersionOf(gv)}`;
}

/**
 * The path that lists and creates. Without a namespace it is that of all namespaces. A namespace for a kind that has
 * none is BadRequest.
 */
export function collectionPath(resource: Resource, namespace: string | undefined): string {
  const base = groupVersionPath(resource);
  if (namespace === undefined) return `${base}/${resource.plural}`;
  if (resource.scope === 'Cluster') {
    throw new ApiError('BadRequest', `${resource.kind} is Cluster-scoped: it has no namespace "${namespace}"`);
  }
  return `${base}/namespaces/${checkedSegment(namespace, 'namespace')}/${resource.plural}`;
}

/** Returns the path to create an object; for a Namespaced kind, it has a namespace. */
export function creationPath(resource: Resource, namespace: string | undefined): string {
  if (resource.scope === 'Namespaced' && namespace === undefined) {
    throw new ApiError('BadRequest', `${resource.kind} is Namespaced: a namespace is required`);
  }
  return collectionPath(resource, namespace);
}

export interface ObjectPath {
  readonly name: string;
  readonly namespace: string | undefined;
  readonly subresource?: 'status' | undefined;
}

/** The path of one object, or of its subresource. A name that no object can have is BadRequest, and is not sent. */
export function objectPath(resource: Resource, { name, namespace, subresource }: ObjectPath): string {
  const path = `${creationPath(resource, namespace)}/${checkedSegment(name, 'name')}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/** A part of a URL must not change its meaning: no slash, no dot segment, nothing that needs escaping. */
function checkedSegment(value: string, field: string): string {
  const [message] = checkDnsSubdomain(value);
  if (message === undefined) return value;
  throw new ApiError('BadRequest', `metadata.${field}: ${message}`, {
    causes: [{ reason: 'FieldValueInvalid', message, field: `metadata.${field}` }],
  });
}
