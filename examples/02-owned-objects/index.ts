import { definePlugin } from 'homeostat';
import { certificateController, pageController, redirectController } from './dependents.ts';
import { Certificate, Page, Redirect, Site } from './models.ts';
import { siteController } from './site-controller.ts';

export default definePlugin({
  models: [Site, Page, Redirect, Certificate],
  controllers: [siteController, pageController, redirectController, certificateController],
});
