import { ApiError } from '@homeostat/controller-runtime/api';
import type { UserInfo } from '../identity/user-info.ts';
import type { Attributes, ResourceAttributes } from './attributes.ts';

/** Returns the error (403) of a refused request, in the words of Kubernetes. `why` is added in parentheses. */
export function forbidden(user: UserInfo, attributes: Attributes, why = ''): ApiError {
  const cannot = attributes.isResource
    ? cannotAccess(attributes)
    : `cannot ${attributes.verb} path ${quote(attributes.path)}`;
  const message = `${subjectOf(attributes)} is forbidden: User ${quote(user.username)} ${cannot}${why === '' ? '' : ` (${why})`}`;
  return new ApiError('Forbidden', message, { details: detailsOf(attributes) });
}

function subjectOf(attributes: Attributes): string {
  if (!attributes.isResource) return 'access';
  const { group, resource, name } = attributes;
  const qualified = group === '' ? resource : `${resource}.${group}`;
  return name === undefined ? qualified : `${qualified} ${quote(name)}`;
}

function cannotAccess({ verb, group, resource, subresource, namespace }: ResourceAttributes): string {
  const part = subresource === undefined ? resource : `${resource}/${subresource}`;
  const where = namespace === undefined ? 'at the cluster scope' : `in the namespace ${quote(namespace)}`;
  return `cannot ${verb} resource ${quote(part)} in API group ${quote(group)} ${where}`;
}

function detailsOf(attributes: Attributes): {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
} {
  if (!attributes.isResource) return {};
  const { name, group, resource } = attributes;
  return { ...(name === undefined ? {} : { name }), ...(group === '' ? {} : { group }), kind: resource };
}

function quote(text: string): string {
  return JSON.stringify(text);
}
