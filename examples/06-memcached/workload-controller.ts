import { controller } from 'homeostat';
import { Workload } from './models.ts';

/** Simulates the system that runs the replicas of a Workload: reports immediately that all replicas run. */
export const workloadController = controller(Workload, {
  async reconcile({ object, condition, status }) {
    const { name } = object.metadata;
    condition('Ready', 'True', { reason: 'Running' });
    await status({ pods: Array.from({ length: object.spec.replicas }, (_, index) => `${name}-${index}`) });
  },
});
