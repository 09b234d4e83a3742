import { controller, wish } from 'homeostat';
import { Memcached, Workload } from './models.ts';

/** Keeps one workload for each Memcached, with the name of the Memcached. */
export const memcachedController = controller(Memcached, {
  owns: [Workload],
  async reconcile({ object, own, condition, status }) {
    const { name } = object.metadata;
    const { size } = object.spec;
    const {
      ready,
      states: [workload],
    } = await own([
      wish(Workload, { metadata: { name }, spec: { image: 'memcached:1.6', replicas: size } }, { ready: 'Ready' }),
    ]);
    const nodes = workload.object?.status?.pods ?? [];
    condition('Available', ready ? 'True' : 'False', {
      reason: ready ? 'Running' : 'Starting',
      message: `${nodes.length} of ${size} nodes run`,
    });
    await status({ nodes });
  },
});
