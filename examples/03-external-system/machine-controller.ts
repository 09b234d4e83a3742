import { controller, isTerminal } from 'homeostat';
import type { Cloud } from './cloud.ts';
import { Machine } from './machine.ts';

/** Keeps one machine in the cloud for each Machine. */
export function machineController(cloud: Cloud) {
  return controller(Machine, {
    // After this time the run's signal aborts its request, and the run counts as failed.
    timeoutMs: '10s',
    // While the cloud is out of order, runs are retried after one second, two, four, and so on up to a minute.
    backoff: { baseMs: 1000, maxMs: 60_000 },
    async reconcile({ object, status, event, signal }) {
      try {
        // The uid is the machine's id. If a run gets no response, the next run finds the machine by this id. If the
        // Machine is deleted and created again under the same name, it has a new uid, and so gets another machine.
        const id = object.metadata.uid;
        const { size } = object.spec;
        const found = await cloud.find(id, signal);
        const machine = found?.size === size ? found : await cloud.put(id, { size }, signal);
        const isRunning = machine.state === 'running';
        await status({ phase: isRunning ? 'Running' : 'Starting', address: machine.address, message: '' });
        // The cloud does not report changes, so poll often while something is pending, and rarely afterwards.
        return { after: isRunning ? '1m' : '2s' };
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        event('Warning', 'CloudFailed', message);
        if (isTerminal(error)) await status({ phase: 'Refused', message });
        throw error;
      }
    },
    async cleanup({ object, signal }) {
      // The finalizer keeps the Machine until the cloud has deleted its machine.
      const left = await cloud.remove(object.metadata.uid, signal);
      return left === undefined ? undefined : { after: '2s' };
    },
  });
}
