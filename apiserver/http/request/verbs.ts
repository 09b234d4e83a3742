import type { GroupVersionKind, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { hasStatusPath } from '../../builtin/builtin-kinds.ts';
import { isApiServiceKind } from '../../builtin/service-kind.ts';
import { isNamespaceKind } from '../../builtin/namespace-kind.ts';
import { isUserKind, passwordSubresource } from '../../builtin/user-kind.ts';
import { isServiceAccountKind, tokenRequestKind } from '../../builtin/service-account-kind.ts';
import { isReadOnly } from '../../builtin/service-kind.ts';
import { isReview } from '../../reviews/review-kinds.ts';

const readVerbs = ['get', 'list', 'watch'];

const objectVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** A subresource and its verbs. */
export interface ServedSubresource {
  readonly name: string;
  readonly verbs: readonly string[];
  /** The kind of the response, when the response is not the object. */
  readonly responseKind?: GroupVersionKind;
}

const status: ServedSubresource = { name: 'status', verbs: ['get', 'patch', 'update'] };

const scale: ServedSubresource = {
  name: 'scale',
  verbs: status.verbs,
  responseKind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
};

const password: ServedSubresource = { name: passwordSubresource, verbs: ['update'] };
const token: ServedSubresource = { name: 'token', verbs: ['create'], responseKind: tokenRequestKind };

/** Returns the verbs of a kind. Namespaces do not have deletecollection. */
export function verbsOf(model: ModelDescriptor): readonly string[] {
  if (isReview(model)) return ['create'];
  if (isApiServiceKind(model)) return ['get', 'list'];
  if (isReadOnly(model)) return readVerbs;
  return isNamespaceKind(model) ? objectVerbs.filter((verb) => verb !== 'deletecollection') : objectVerbs;
}

export function subresourcesOf(model: ModelDescriptor): readonly ServedSubresource[] {
  if (isReview(model) || isReadOnly(model)) return [];
  if (isNamespaceKind(model)) return [{ name: 'finalize', verbs: ['update'] }, status];
  if (isUserKind(model)) return [password];
  if (isServiceAccountKind(model)) return [token];
  if (!hasStatusPath(model)) return [];
  return model.scale === undefined ? [status] : [status, scale];
}
