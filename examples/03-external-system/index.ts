import { definePlugin } from 'homeostat';
import { createCloud } from './cloud.ts';
import { machineController } from './machine-controller.ts';
import { Machine } from './machine.ts';

export default definePlugin({
  models: [Machine],
  start({ controllers }) {
    const url = process.env['CLOUD_URL'] ?? 'http://127.0.0.1:8750';
    // After this error, only this plugin fails, and its status shows the error.
    if (!URL.canParse(url)) throw new Error(`CLOUD_URL: ${JSON.stringify(url)} is no URL`);
    controllers.add(machineController(createCloud(url)));
  },
});
