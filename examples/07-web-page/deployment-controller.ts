import { controller } from 'homeostat';
import { Deployment } from './models.ts';

/** Simulates the web server: it runs immediately. */
export const deploymentController = controller(Deployment, {
  reconcile({ condition }) {
    condition('Ready', 'True', { reason: 'Running' });
  },
});
