import { controller } from 'homeostat';
import { createHash } from 'node:crypto';
import { Digest } from './digest.ts';

/** Computes digests, and signs them with the name of the process. */
export function digestController(worker: string) {
  return controller(Digest, {
    async reconcile({ object, status }) {
      // The status already has the digest of this spec, perhaps from an earlier leader, so there is nothing to do.
      if (object.status?.observedGeneration === object.metadata.generation) return;
      await status({ sha256: createHash('sha256').update(object.spec.text).digest('hex'), worker });
    },
  });
}
