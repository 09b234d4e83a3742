import { ApiError } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { Context } from 'koa';

/** 405 of a path of a kind. */
export function methodNotAllowed({ method }: Context, { group, plural }: ModelDescriptor): ApiError {
  const verb = method.toLowerCase().slice(0, 16);
  const resource = group === '' ? plural : `${plural}.${group}`;
  return new ApiError('MethodNotAllowed', `${verb} is not supported on resources of kind "${resource}"`, {
    details: { group, kind: plural },
  });
}

/** 404 of a path that is nobody's. */
export function pathNotFound(): ApiError {
  return new ApiError('NotFound', 'the server could not find the requested resource');
}
