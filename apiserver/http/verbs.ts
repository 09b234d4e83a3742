import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { isNamespaceKind } from '../builtin/namespace-kind.ts';
import { isReview } from '../reviews/review-kinds.ts';

const objectVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** A subresource, and what can be done with it. */
export interface Subresource {
  readonly name: string;
  readonly verbs: readonly string[];
}

const status: Subresource = { name: 'status', verbs: ['get', 'patch', 'update'] };

/** What can be done with the objects of a kind. Namespaces are deleted one by one. */
export function verbsOf(model: ModelDescriptor): readonly string[] {
  if (isReview(model)) return ['create'];
  return isNamespaceKind(model) ? objectVerbs.filter((verb) => verb !== 'deletecollection') : objectVerbs;
}

export function subresourcesOf(model: ModelDescriptor): readonly Subresource[] {
  if (isReview(model)) return [];
  return isNamespaceKind(model) ? [{ name: 'finalize', verbs: ['update'] }, status] : [status];
}
