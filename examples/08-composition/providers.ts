import { controller } from 'homeostat';
import { Application, Database, Network } from './models.ts';

// Simulate real providers: each provider reports whether its resource is ready.

export const networkController = controller(Network, {
  reconcile({ object, condition }) {
    const isThere = object.spec.region !== 'nowhere';
    condition('Ready', isThere ? 'True' : 'False', { reason: isThere ? 'Provisioned' : 'NoSuchRegion' });
  },
  cleanup: ({ logger, name }) => logger.info({ network: name }, 'the network is removed'),
});

export const databaseController = controller(Database, {
  reconcile({ condition }) {
    condition('Ready', 'True', { reason: 'Provisioned' });
  },
  cleanup: ({ logger, name }) => logger.info({ database: name }, 'the database is removed'),
});

export const applicationController = controller(Application, {
  reconcile({ condition }) {
    condition('Ready', 'True', { reason: 'Provisioned' });
  },
  cleanup: ({ logger, name }) => logger.info({ application: name }, 'the application is removed'),
});
