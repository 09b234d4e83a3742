import { startApiServer } from '@homeostat/apiserver';
import { checkConvergenceOn } from '@homeostat/controller-runtime/testing';
import type {
  ConvergenceOptions,
  ConvergenceReport,
  ConvergenceServer,
  ServerParts,
} from '@homeostat/controller-runtime/testing';

/**
 * Checks that controllers reach the same state whatever faults happen. It runs the scenario without faults; then with a
 * crash, a lost response, a refusal and a conflict at each write of the controllers, and with a refusal of each read;
 * then with faults that are drawn by seed. Rejects with ConvergenceError, which names the faults that cause the
 * difference, what differs, and the seed that repeats the run. Each run has a server in memory of its own, with garbage
 * collection, and takes a few milliseconds.
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
