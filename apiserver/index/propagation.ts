/** The effect of a deletion on the dependents of the deleted object (Kubernetes' `propagationPolicy`). */
export type PropagationPolicy = 'Background' | 'Foreground' | 'Orphan';

/**
 * The finalizers that keep an object until the garbage collector has applied the policy of its deletion, with the names
 * of Kubernetes.
 */
export const propagationFinalizers = { Foreground: 'foregroundDeletion', Orphan: 'orphan' } as const;

/** Returns the policy that these finalizers request, whether or not the object is marked for deletion. */
export function policyOf(finalizers: readonly string[] = []): PropagationPolicy {
  if (finalizers.includes(propagationFinalizers.Foreground)) return 'Foreground';
  return finalizers.includes(propagationFinalizers.Orphan) ? 'Orphan' : 'Background';
}
