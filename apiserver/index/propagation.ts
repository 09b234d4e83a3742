/** The effect of a deletion on the objects that have the deleted one as an owner (Kubernetes' `propagationPolicy`). */
export type PropagationPolicy = 'Background' | 'Foreground' | 'Orphan';

/** The finalizers that keep an object until the collector has applied its deletion policy. Kubernetes' names. */
export const propagationFinalizers = { Foreground: 'foregroundDeletion', Orphan: 'orphan' } as const;

/** The policy that these finalizers request, whether or not the object is marked for deletion. */
export function policyOf(finalizers: readonly string[] = []): PropagationPolicy {
  if (finalizers.includes(propagationFinalizers.Foreground)) return 'Foreground';
  return finalizers.includes(propagationFinalizers.Orphan) ? 'Orphan' : 'Background';
}
