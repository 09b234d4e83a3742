import { ApiError } from '@homeostat/controller-runtime/api';
import type { ApiErrorOptions, ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';
import { badRequest, clip, resourceName } from '../../registry/object/resource-errors.ts';
import { parseResourcePath } from './resource-path.ts';
import { subresourcesOf, verbsOf } from './verbs.ts';

/** The HTTP methods of each verb. */
const methodsOfVerbs: Readonly<Record<'collection' | 'object', Readonly<Record<string, readonly string[]>>>> = {
  collection: { list: ['GET', 'HEAD'], create: ['POST'], deletecollection: ['DELETE'] },
  object: { get: ['GET', 'HEAD'], update: ['PUT'], patch: ['PATCH'], delete: ['DELETE'] },
};

/** Returns a 405 for a path of a kind. */
export function methodNotAllowed(context: Context, model: ModelDescriptor): ApiError {
  const { group, plural } = model;
  const details = { group, kind: plural };
  return notAllowed(
    context,
    { on: `resources of kind "${resourceName(model)}"`, allowed: allowedAt(context.path, model) },
    { details },
  );
}

/** Throws a 405 for a path that does not belong to a kind. */
export function refuseMethod(context: Context, allowed: readonly string[]): never {
  throw notAllowed(context, { on: clip(context.path), allowed });
}

/** Returns a 405 that lists the allowed methods, as RFC 9110, 15.5.6 requires. */
function notAllowed(
  context: Context,
  { on, allowed }: { readonly on: string; readonly allowed: readonly string[] },
  options?: ApiErrorOptions,
): ApiError {
  context.set('Allow', allowed.join(', '));
  const method = context.method.toLowerCase().slice(0, 16);
  return new ApiError('MethodNotAllowed', `${method} is not supported on ${on}`, options);
}

function allowedAt(path: string, model: ModelDescriptor): readonly string[] {
  const { name, subresource } = parseResourcePath(path) ?? {};
  const verbs =
    subresource === undefined
      ? verbsOf(model)
      : (subresourcesOf(model).find((each) => each.name === subresource)?.verbs ?? []);
  const methods = methodsOfVerbs[name === undefined ? 'collection' : 'object'];
  return Object.entries(methods).flatMap(([verb, of]) => (verbs.includes(verb) ? of : []));
}

/** Returns a 404 for an unknown path. */
export function pathNotFound(): ApiError {
  return new ApiError('NotFound', 'the server could not find the requested resource');
}

/** Returns a 400 for a body with a field that contradicts the path. */
export function contradictsPath(field: string, value: unknown, expected: string): ApiError {
  const given = typeof value === 'string' ? clip(value) : '';
  return badRequest(`${field}: the body has "${given}", but the path has "${expected}"`);
}
