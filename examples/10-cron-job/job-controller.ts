import { controller } from 'homeostat';
import { Job } from './models.ts';

/**
 * Simulates the program that runs jobs: a job takes the number of seconds in its spec, and fails if its image is
 * "broken".
 */
export const jobController = controller(Job, {
  async reconcile({ object, clock, condition, status }) {
    const { image, seconds = 0 } = object.spec;
    const { conditions = [] } = object.status ?? {};
    if (conditions.length > 0) return undefined;
    // A job starts when it is created. The current time would be wrong: if the cache of a new process does not show yet
    // that the job has started, this process would store a later start time.
    const startTime = object.metadata.creationTimestamp;
    await status({ startTime });
    const leftMs = Date.parse(startTime) + seconds * 1000 - clock.now();
    if (leftMs > 0) return { after: leftMs };
    if (image === 'broken') condition('Failed', 'True', { reason: 'Error' });
    else condition('Complete', 'True', { reason: 'Ended' });
    return undefined;
  },
});
