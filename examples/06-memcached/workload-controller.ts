import { controller } from 'homeostat';
import { Workload } from './models.ts';

/** Simulates the programs that run the copies: all copies run immediately. */
export const workloadController = controller(Workload, {
  async reconcile({ object, condition, status }) {
    const { name } = object.metadata;
    condition('Ready', 'True', { reason: 'Running' });
    await status({ pods: Array.from({ length: object.spec.replicas }, (_, index) => `${name}-${index}`) });
  },
});
