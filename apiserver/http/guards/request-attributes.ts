import { isApiError, parseFieldSelector } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import type { Attributes, ResourceAttributes } from '../../authorization/attributes.ts';
import type { EndpointTable } from '../../endpoints/serving/endpoint-table.ts';
import { withoutTrailingSlash } from '../pages/health.ts';
import { askedOf, resourcePathOf } from '../request/request-verb.ts';
import { allOf } from '../request/query.ts';
import type { ResourcePath } from '../request/resource-path.ts';

export interface AttributesParts {
  readonly endpoints: Pick<EndpointTable, 'permissionsFor'>;
  /** True for the path of a kind that is served or being indexed: it takes precedence over endpoints. */
  readonly isKind: (path: ResourcePath) => boolean;
}

/**
 * Returns the attributes of a request, like Kubernetes' RequestInfo; the request needs permission for each of them.
 * Paths under /api
 * and /apis in the form of objects' paths count as such, even for unknown kinds, unless they are a plugin's endpoint.
 */
export function requestAttributes(context: Context, { endpoints, isKind }: AttributesParts): readonly Attributes[] {
  const asked = askedOf(context);
  const path = resourcePathOf(context);
  const needed = endpoints.permissionsFor(context.method, context.path);
  if (asked.isResource && path !== undefined && (needed === undefined || isKind(path)))
    return [withName(context, asked)];
  if (needed !== undefined) {
    return needed.map((each) => ('path' in each ? pathAttributes(context, each.path) : { isResource: true, ...each }));
  }
  return [pathAttributes(context, context.path)];
}

function pathAttributes({ method }: Context, path: string): Attributes {
  return { isResource: false, verb: method.toLowerCase(), path: withoutTrailingSlash(path) };
}

/**
 * Adds the name that a field selector requires. A request for a Namespace also gets that namespace as its own, as in
 * Kubernetes.
 */
function withName(context: Context, asked: ResourceAttributes): ResourceAttributes {
  const { verb, resource, namespace, name } = asked;
  if (verb === 'get' && isOfObject(asked)) return { ...asked, subresource: undefined };
  // A role in a namespace can give permissions on the namespace.
  if (name !== undefined)
    return resource === 'namespaces' && namespace === undefined ? { ...asked, namespace: name } : asked;
  const selected = verb === 'list' || verb === 'watch' ? selectedName(context) : undefined;
  return selected === undefined ? asked : { ...asked, name: selected };
}

/** True for a subresource that only describes the object: a user who may get the object may read it. */
function isOfObject({ subresource }: ResourceAttributes): boolean {
  return subresource === 'history' || subresource === 'explanation';
}

/**
 * Returns the name that a field selector requires. A selector that cannot be read is refused later, and selects none
 * here.
 */
function selectedName({ query, querystring }: Context): string | undefined {
  if (!querystring.includes('fieldSelector')) return undefined;
  try {
    const terms = parseFieldSelector(allOf(query, 'fieldSelector'));
    const named = terms.find(
      ({ key, operator, values }) => key === 'metadata.name' && operator === 'in' && values.length === 1,
    );
    return named?.values[0];
  } catch (error) {
    if (!isApiError(error)) throw error;
    return undefined;
  }
}
