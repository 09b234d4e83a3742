import type { ObjectMeta } from '@homeostat/controller-runtime/api';

/** What a deletion does to the objects that have the deleted one as an owner (Kubernetes' `propagationPolicy`). */
export type PropagationPolicy = 'Background' | 'Foreground' | 'Orphan';

/** The finalizers by which an object stays until the collector has done what its deletion asked for. Kubernetes' names. */
export const propagationFinalizers = { Foreground: 'foregroundDeletion', Orphan: 'orphan' } as const;

/** What these finalizers ask for, whether the object is declared deleted or not. */
export function policyOf(finalizers: readonly string[] = []): PropagationPolicy {
  if (finalizers.includes(propagationFinalizers.Foreground)) return 'Foreground';
  return finalizers.includes(propagationFinalizers.Orphan) ? 'Orphan' : 'Background';
}

/** How an object's deletion goes on; undefined when it is not declared deleted. */
export function propagationOf({ deletionTimestamp, finalizers }: ObjectMeta): PropagationPolicy | undefined {
  return deletionTimestamp === undefined ? undefined : policyOf(finalizers);
}
