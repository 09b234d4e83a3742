import { controller } from 'homeostat';
import { createHash } from 'node:crypto';
import { Digest } from './digest.ts';

/** Computes digests, and signs them with the name of the process. */
export function digestController(worker: string) {
  return controller(Digest, {
    async reconcile({ object, status }) {
      // Done for this spec, by whoever led then: a new leader goes on with what is left.
      if (object.status?.observedGeneration === object.metadata.generation) return;
      await status({ sha256: createHash('sha256').update(object.spec.text).digest('hex'), worker });
    },
  });
}
