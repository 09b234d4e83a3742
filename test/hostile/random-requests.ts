import fc from 'fast-check';
import type { HostileRequest } from './hostile-request.ts';
import { defining } from './random-definitions.ts';
import { anything, raw } from './random-lines.ts';
import { selecting, watching } from './random-reads.ts';
import { patching, merging, applying, writing, reading, protobuf } from './random-writes.ts';

/** A random request of any type. The weights are the relative frequencies of the types. */
const hostileRequest: fc.Arbitrary<HostileRequest> = fc.oneof(
  { weight: 8, arbitrary: anything },
  { weight: 4, arbitrary: writing },
  { weight: 4, arbitrary: patching },
  { weight: 2, arbitrary: merging },
  { weight: 4, arbitrary: applying },
  { weight: 3, arbitrary: reading },
  { weight: 3, arbitrary: selecting },
  { weight: 2, arbitrary: watching },
  { weight: 2, arbitrary: defining },
  { weight: 1, arbitrary: protobuf },
  { weight: 3, arbitrary: raw },
);

/** Returns `count` random requests. They are the same for the same seed. */
export function randomRequests(count: number, seed: number): readonly HostileRequest[] {
  return fc.sample(hostileRequest, { seed, numRuns: count });
}
