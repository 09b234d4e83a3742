import { controller } from 'homeostat';
import { Job } from './models.ts';

/** Stands for what runs jobs: each takes its seconds, and those of the image "broken" fail. */
export const jobController = controller(Job, {
  async reconcile({ object, clock, now, condition, status }) {
    const { image, seconds = 0 } = object.spec;
    const { startTime = now, conditions = [] } = object.status ?? {};
    if (conditions.length > 0) return undefined;
    await status({ startTime });
    const leftMs = Date.parse(startTime) + seconds * 1000 - clock.now();
    if (leftMs > 0) return { after: leftMs };
    if (image === 'broken') condition('Failed', 'True', { reason: 'Error' });
    else condition('Complete', 'True', { reason: 'Ended' });
    return undefined;
  },
});
