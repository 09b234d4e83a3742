import { conditionsSchema, defineModel } from 'homeostat';
import type { FromModel } from 'homeostat';

const text = { type: 'string', maxLength: 200 } as const;
const seconds = { type: 'integer', minimum: 0 } as const;
const limit = { type: 'integer', minimum: 0 } as const;
const time = { type: 'string', format: 'date-time' } as const;
const jobSpec = { type: 'object', required: ['image'], properties: { image: text, seconds } } as const;

export const CronJob = defineModel({
  gvk: 'batch.example.com/v1/CronJob',
  plural: 'cronjobs',
  scope: 'Namespaced',
  shortNames: ['cj'],
  subresources: ['status'],
  printerColumns: [
    { name: 'Schedule', type: 'string', jsonPath: '.spec.schedule' },
    { name: 'Suspend', type: 'boolean', jsonPath: '.spec.suspend' },
    { name: 'Last Schedule', type: 'date', jsonPath: '.status.lastScheduleTime' },
  ],
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        required: ['schedule', 'jobTemplate'],
        properties: {
          schedule: { ...text, pattern: '^(@[a-z]+|\\S+( +\\S+){4})$', description: 'A cron expression, in UTC.' },
          startingDeadlineSeconds: {
            ...seconds,
            description: 'A job that cannot start within this time after its scheduled time is skipped.',
          },
          concurrencyPolicy: { type: 'string', enum: ['Allow', 'Forbid', 'Replace'], default: 'Allow' },
          suspend: { type: 'boolean', default: false },
          jobTemplate: { type: 'object', required: ['spec'], properties: { spec: jobSpec } },
          successfulJobsHistoryLimit: { ...limit, default: 3 },
          failedJobsHistoryLimit: { ...limit, default: 1 },
        },
      },
      status: {
        type: 'object',
        properties: { active: { type: 'array', items: text }, lastScheduleTime: time },
      },
    },
  },
});
export type CronJob = FromModel<typeof CronJob>;

/** Like Kubernetes' Job, with only the fields that this example needs. */
export const Job = defineModel({
  gvk: 'batch.example.com/v1/Job',
  plural: 'jobs',
  scope: 'Namespaced',
  subresources: ['status'],
  schema: {
    type: 'object',
    required: ['spec'],
    properties: {
      spec: jobSpec,
      status: { type: 'object', properties: { startTime: time, conditions: conditionsSchema } },
    },
  },
});
export type Job = FromModel<typeof Job>;
