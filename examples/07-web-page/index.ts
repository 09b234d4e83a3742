import { definePlugin } from 'homeostat';
import { deploymentController } from './deployment-controller.ts';
import { Deployment, Ingress, Service, WebPage } from './models.ts';
import { webPageController } from './web-page-controller.ts';

export default definePlugin({
  models: [WebPage, Deployment, Service, Ingress],
  controllers: [webPageController, deploymentController],
});
