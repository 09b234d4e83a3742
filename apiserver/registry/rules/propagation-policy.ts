import type { PropagationPolicy } from '../../index/propagation.ts';
import { clip, invalidOptions } from '../object/resource-errors.ts';

const policies: readonly PropagationPolicy[] = ['Foreground', 'Background', 'Orphan'];

/**
 * Returns the policy that a deletion requests for dependents; undefined when it requests none. `orphanDependents` is an
 * older parameter for the same purpose. @throws ApiError Invalid (422), like kube-apiserver, for an unknown policy, and
 * when both parameters are set.
 */
export function readPropagationPolicy(
  policy: unknown,
  orphanDependents: boolean | undefined,
): PropagationPolicy | undefined {
  const known = policies.find((each) => each === policy);
  if (policy !== undefined && known === undefined) {
    const text = clip(typeof policy === 'string' ? policy : JSON.stringify(policy));
    const list = policies.map((each) => `"${each}"`).join(', ');
    const message = `Unsupported value: ${JSON.stringify(text)}: supported values: ${list}`;
    throw refused('FieldValueNotSupported', message);
  }
  if (orphanDependents === undefined) return known;
  if (known !== undefined) {
    const message = `Invalid value: "${known}": orphanDependents and deletionPropagation cannot be both set`;
    throw refused('FieldValueInvalid', message);
  }
  return orphanDependents ? 'Orphan' : 'Background';
}

function refused(reason: 'FieldValueNotSupported' | 'FieldValueInvalid', message: string): Error {
  return invalidOptions('DeleteOptions', { reason, field: 'propagationPolicy', message });
}
