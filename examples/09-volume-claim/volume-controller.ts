import { controller } from 'homeostat';
import { Volume } from './models.ts';

/** Stands for the storage: each volume gets its size at once. */
export const volumeController = controller(Volume, {
  async reconcile({ object, condition, status }) {
    condition('Ready', 'True', { reason: 'Provisioned' });
    await status({ capacity: object.spec.size });
  },
});
