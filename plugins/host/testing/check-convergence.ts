import { startApiServer } from '@homeostat/apiserver';
import { checkConvergenceOn } from '@homeostat/controller-runtime/testing';
import type {
  ConvergenceOptions,
  ConvergenceReport,
  ConvergenceServer,
  ServerParts,
} from '@homeostat/controller-runtime/testing';

/**
 * Checks that controllers reach the same state with faults as without them. Runs the scenario first without faults.
 * Then runs it with one fault at a time: a crash, a lost response, a refusal and (except for a create) a conflict at
 * each write of the controllers; a refusal of each read; a failure and a lost response for each call of an external
 * system. Of more than a hundred reads or calls, only a hundred get a fault. Then runs the scenario with random faults,
 * chosen by a seed. Rejects with ConvergenceError, which has the faults that cause a difference, the difference, and
 * the seed of a run with random faults. Each run has its own server in memory, with garbage collection, and takes a few
 * milliseconds.
 */
export function checkConvergence(options: ConvergenceOptions): Promise<ConvergenceReport> {
  return checkConvergenceOn({ ...options, startServer });
}

async function startServer({ clock, random, uuid, models }: ServerParts): Promise<ConvergenceServer> {
  const server = await startApiServer({ database: 'memory:', port: 0, clock, random, uuid });
  for (const model of models) server.schemeManager.register(model);
  for (const model of models) await server.whenReady(model);
  return {
    client: server.client,
    controllerClient: server.createPluginClient('test'),
    isIdle: () => server.isIdle(),
    stop: () => server.stop(),
  };
}
