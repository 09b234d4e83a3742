import { definePlugin } from 'homeostat';
import { cronJobController } from './cron-job-controller.ts';
import { jobController } from './job-controller.ts';
import { CronJob, Job } from './models.ts';

export default definePlugin({ models: [CronJob, Job], controllers: [cronJobController, jobController] });
