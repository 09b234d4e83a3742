import { externalEffectModel } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';

/**
 * True for kinds whose objects remain until their owners are removed, even if their namespace is being deleted. The
 * cleanup of an owner still needs these objects.
 */
export function staysWithOwner({ group, kind }: Pick<ModelDescriptor, 'group' | 'kind'>): boolean {
  return group === externalEffectModel.group && kind === externalEffectModel.kind;
}
