import { ApiError, apiVersionOf, checkDnsSubdomain } from '../../api/index.ts';
import type { ModelDescriptor } from '../../api/index.ts';

/** The fields of a model from which its URLs are made, and its kind, for the messages of errors. */
export type Resource = Pick<ModelDescriptor, 'group' | 'version' | 'kind' | 'plural' | 'scope'>;

/** Returns `/apis/<group>/<version>`, or `/api/<version>` for the core group. */
export function groupVersionPath(gv: { readonly group: string; readonly version: string }): string {
  return `${gv.group === '' ? '/api' : '/apis'}/${apiVersionOf(gv)}`;
}

/**
 * Returns the path of a kind's objects in one namespace, or in all namespaces when none is given. Throws BadRequest
 * when a namespace is given for a Cluster-scoped kind.
 */
export function collectionPath(resource: Resource, namespace: string | undefined): string {
  const base = groupVersionPath(resource);
  if (namespace === undefined) return `${base}/${resource.plural}`;
  if (resource.scope === 'Cluster') {
    throw new ApiError('BadRequest', `${resource.kind} is Cluster-scoped: it has no namespace "${namespace}"`);
  }
  return `${base}/namespaces/${checkedSegment(namespace, 'namespace')}/${resource.plural}`;
}

/**
 * Returns the path to which a creation is sent. Throws BadRequest when the namespace of a Namespaced kind is missing.
 */
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

/**
 * Returns the path of one object, or of its subresource. Throws BadRequest, so that no request is sent, for a name that
 * no object can have, for a Namespaced kind without a namespace, and for a Cluster-scoped kind with a namespace.
 */
export function objectPath(resource: Resource, { name, namespace, subresource }: ObjectPath): string {
  const path = `${creationPath(resource, namespace)}/${checkedSegment(name, 'name')}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

/**
 * Checks that a segment of a URL is a DNS subdomain, and returns it. So the segment cannot change the meaning of the
 * URL: it is neither `.` nor `..`, and has no slash and no character that needs escaping.
 */
function checkedSegment(value: string, field: string): string {
  const [message] = checkDnsSubdomain(value);
  if (message === undefined) return value;
  throw new ApiError('BadRequest', `metadata.${field}: ${message}`, {
    causes: [{ reason: 'FieldValueInvalid', message, field: `metadata.${field}` }],
  });
}
