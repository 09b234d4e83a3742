import type { ApiObject, ObjectMeta } from '@homeostat/controller-runtime/api';
import { policyOf, propagationFinalizers } from '../../index/propagation.ts';
import type { PropagationPolicy } from '../../index/propagation.ts';
import type { DeleteProposal, NextState } from './proposal.ts';
import { isHeld } from './write-rules.ts';
import type { Rules } from './write-request.ts';

/**
 * Decides a deletion: removes the object immediately when neither a finalizer nor a rule of its kind keeps it;
 * otherwise marks it for deletion. The request decides what happens to the dependents; without a policy in the request,
 * the finalizers of the object decide. A second DELETE can change this policy. If nothing keeps the object under the
 * new policy, the second DELETE removes it.
 */
export function decideDelete(rules: Rules, { object: stored, policy, request }: DeleteProposal): NextState | undefined {
  rules.strategy?.checkDelete(stored);
  const object = withPolicy(stored, policy);
  if (!isHeld(rules, object)) return { op: 'delete', object };
  const isDeclared = stored.metadata.deletionTimestamp !== undefined;
  if (isDeclared && object === stored) return undefined;
  const metadata = { ...object.metadata, version: stored.metadata.version + 1 };
  if (isDeclared) return { op: 'update', object: { ...object, metadata } };
  const declared: ApiObject = {
    ...object,
    metadata: {
      ...metadata,
      generation: stored.metadata.generation + 1,
      deletionTimestamp: request.now,
      deletionGracePeriodSeconds: 0,
    },
  };
  return { op: 'update', object: rules.strategy?.declareDeleted(declared) ?? declared };
}

/**
 * Returns the object with the finalizers that the policy requires; the stored object itself when its finalizers already
 * match the policy.
 */
function withPolicy(stored: ApiObject, asked: PropagationPolicy | undefined): ApiObject {
  const before = stored.metadata.finalizers ?? [];
  const policy = asked ?? policyOf(before);
  if (policy === policyOf(before)) return stored;
  const { Foreground, Orphan } = propagationFinalizers;
  const others = before.filter((finalizer) => finalizer !== Foreground && finalizer !== Orphan);
  const finalizers = policy === 'Background' ? others : [...others, propagationFinalizers[policy]];
  const { finalizers: _before, ...metadata }: ObjectMeta = stored.metadata;
  return { ...stored, metadata: finalizers.length === 0 ? metadata : { ...metadata, finalizers } };
}
