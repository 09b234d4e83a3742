import { controller } from 'homeostat';
import type { ReconcileContext } from 'homeostat';
import { CronJob, Job } from './models.ts';

type Run = ReconcileContext<CronJob>;

const scheduledAt = 'batch.example.com/scheduled-at';

/** Creates a job at each time of the schedule, and deletes the oldest finished jobs. */
export const cronJobController = controller(CronJob, {
  owns: [Job],
  schedule: ({ spec }) => (spec.suspend === true ? undefined : spec.schedule),
  async reconcile(run) {
    const { scheduled, children, status } = run;
    const lastScheduleTime = (await startsJob(run)) ? scheduled : undefined;
    const active = children(Job).filter(isActive);
    await status({
      active: active.map(({ metadata }) => metadata.name),
      ...(lastScheduleTime === undefined ? {} : { lastScheduleTime }),
    });
    // The status is written before jobs are deleted, because after the deletion of a job only the status shows that a
    // job was created for its scheduled time.
    await keepLatest(run, 'Complete', run.object.spec.successfulJobsHistoryLimit ?? 3);
    await keepLatest(run, 'Failed', run.object.spec.failedJobsHistoryLimit ?? 1);
  },
});

/**
 * Creates the job for the scheduled time of this run, unless an earlier run created it and was then interrupted, and
 * returns true. Returns false if the run needs no job: it has no scheduled time, the status already has this time, the
 * deadline has passed, or another job runs and the policy is Forbid.
 */
async function startsJob(run: Run): Promise<boolean> {
  const { object, namespace, scheduled, client, ensure, event } = run;
  if (scheduled === undefined || object.status?.lastScheduleTime === scheduled) return false;
  const { concurrencyPolicy, startingDeadlineSeconds = Infinity, jobTemplate } = object.spec;
  const name = `${object.metadata.name}-${Date.parse(scheduled) / 60_000}`;
  // Reads from the server, because the cache of a new leader may lack a job that the last leader has created.
  const { items } = await client.list(Job, { namespace });
  const { uid } = object.metadata;
  const jobs = items.filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid));
  if (jobs.some(({ metadata }) => metadata.name === name)) return true;
  if (run.clock.now() > Date.parse(scheduled) + startingDeadlineSeconds * 1000) {
    event('Warning', 'MissSchedule', `the job of ${scheduled} missed its starting deadline`);
    return false;
  }
  const active = jobs.filter(isActive);
  if (concurrencyPolicy === 'Forbid' && active.length > 0) {
    event('Normal', 'JobAlreadyActive', `the job of ${scheduled} is skipped: another job is running`);
    return false;
  }
  if (concurrencyPolicy === 'Replace') await deleteJobs(run, active);
  await ensure(Job, name, { metadata: { annotations: { [scheduledAt]: scheduled } }, spec: jobTemplate.spec });
  event('Normal', 'SuccessfulCreate', `created job ${name}`);
  return true;
}

/** Deletes all but the latest `limit` jobs that ended with this condition. */
async function keepLatest(run: Run, type: 'Complete' | 'Failed', limit: number): Promise<void> {
  const ended = run.children(Job).filter((job) => isTrue(job, type));
  const latestFirst = ended.toSorted((a, b) => timeOf(b) - timeOf(a));
  await deleteJobs(run, latestFirst.slice(limit));
}

async function deleteJobs({ client }: Run, jobs: readonly Job[]): Promise<void> {
  for (const { metadata } of jobs) {
    const { name, namespace, uid, deletionTimestamp } = metadata;
    if (deletionTimestamp !== undefined) continue;
    await client.delete(Job, name, { namespace, preconditions: { uid } });
  }
}

const isTrue = ({ status }: Job, type: string): boolean =>
  status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') === true;
const isActive = (job: Job): boolean => !isTrue(job, 'Complete') && !isTrue(job, 'Failed');
const timeOf = ({ metadata }: Job): number => Date.parse(metadata.annotations?.[scheduledAt] ?? '');
