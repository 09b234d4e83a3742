import { controller, wish } from 'homeostat';
import { EphemeralVolumeClaim, Volume } from './models.ts';

/**
 * Keeps one volume for each claim. The volume has the claim's name, its spec, and its labels whose keys have a prefix,
 * such as `example.com/`.
 */
export const claimController = controller(EphemeralVolumeClaim, {
  owns: [Volume],
  async reconcile({ object, own, condition }) {
    const { name } = object.metadata;
    const labels = prefixed(object.metadata.labels);
    const { ready } = await own([wish(Volume, { metadata: { name, labels }, spec: object.spec }, { ready: 'Ready' })]);
    condition('Bound', ready ? 'True' : 'False', { reason: ready ? 'Provisioned' : 'Provisioning' });
  },
});

/**
 * Returns the labels whose keys have a prefix: a plugin may write only these, because keys without a prefix are
 * reserved for users.
 */
function prefixed(labels: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(labels).filter(([key]) => key.includes('/')));
}
