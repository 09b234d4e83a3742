import { controller } from 'homeostat';
import { Deployment } from './models.ts';

/** Simulates a web server that starts immediately: reports each Deployment as `Ready`. */
export const deploymentController = controller(Deployment, {
  reconcile({ condition }) {
    condition('Ready', 'True', { reason: 'Running' });
  },
});
