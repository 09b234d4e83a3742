import { externalEffectModel } from '@homeostat/controller-runtime/api';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';

/**
 * True for kinds whose objects stay until their owners are gone, however the owners or the namespace are deleted: an owner that is cleaned up
 * still needs them.
 */
export function staysWithOwner({ group, kind }: Pick<ModelDescriptor, 'group' | 'kind'>): boolean {
  return group === externalEffectModel.group && kind === externalEffectModel.kind;
}
