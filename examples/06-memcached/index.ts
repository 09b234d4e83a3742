import { definePlugin } from 'homeostat';
import { memcachedController } from './memcached-controller.ts';
import { Memcached, Workload } from './models.ts';
import { workloadController } from './workload-controller.ts';

export default definePlugin({ models: [Memcached, Workload], controllers: [memcachedController, workloadController] });
