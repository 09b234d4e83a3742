import { definePlugin } from 'homeostat';
import { environmentController } from './environment-controller.ts';
import { Application, Database, Environment, Network } from './models.ts';
import { applicationController, databaseController, networkController } from './providers.ts';

export default definePlugin({
  models: [Environment, Network, Database, Application],
  controllers: [environmentController, networkController, databaseController, applicationController],
});
