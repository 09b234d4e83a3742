import { controller } from 'homeostat';
import { Volume } from './models.ts';

/** Simulates the storage: each volume gets its size immediately. */
export const volumeController = controller(Volume, {
  async reconcile({ object, condition, status }) {
    condition('Ready', 'True', { reason: 'Provisioned' });
    await status({ capacity: object.spec.size });
  },
});
