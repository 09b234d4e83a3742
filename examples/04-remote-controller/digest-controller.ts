import { controller } from 'homeostat';
import { createHash } from 'node:crypto';
import { Digest } from './digest.ts';

/** Computes digests, and signs them with the name of the process. */
export function digestController(worker: string) {
  return controller(Digest, {
    async reconcile({ object, status }) {
      // This spec is done, perhaps by an earlier leader; a new leader continues with the rest.
      if (object.status?.observedGeneration === object.metadata.generation) return;
      await status({ sha256: createHash('sha256').update(object.spec.text).digest('hex'), worker });
    },
  });
}
