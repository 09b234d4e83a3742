import { controller } from 'homeostat';
import { Deployment } from './models.ts';

/** Stands for the web server: it runs at once. */
export const deploymentController = controller(Deployment, {
  reconcile({ condition }) {
    condition('Ready', 'True', { reason: 'Running' });
  },
});
