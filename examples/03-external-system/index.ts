import { definePlugin } from 'homeostat';
import { createCloud } from './cloud.ts';
import { machineController } from './machine-controller.ts';
import { Machine } from './machine.ts';

export default definePlugin({
  models: [Machine],
  start({ controllers }) {
    const cloud = createCloud(process.env['CLOUD_URL'] ?? 'http://127.0.0.1:8750');
    controllers.add(machineController(cloud));
  },
});
