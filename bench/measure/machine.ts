import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { median } from './figures.ts';

/**
 * Returns the facts about the machine on which the figures depend. A very short fsync shows that the disk is in memory,
 * or that it does not sync.
 */
export function describeMachine(folder: string): string {
  const model = cpus()[0]?.model ?? 'unknown processor';
  const load = (loadavg()[0] ?? 0).toFixed(1);
  return (
    `Node ${process.versions.node}, ${availableParallelism().toString()} x ${model}, load average ${load}; ` +
    `fsync in ${folder}: ${fsyncMs(folder).toFixed(2)} ms`
  );
}

/** Returns the number of cores, the load average and the time of an fsync, as a part of a sentence for the docs. */
export function describeConditions(folder: string): string {
  const load = (loadavg()[0] ?? 0).toFixed(0);
  return `on ${availableParallelism().toString()} cores with a load average of ${load}, where an fsync took ${fsyncMs(folder).toFixed(1)} ms`;
}

function fsyncMs(folder: string): number {
  const file = openSync(join(folder, 'fsync'), 'w');
  const page = Buffer.alloc(4096);
  const times = Array.from({ length: 20 }, () => {
    writeSync(file, page);
    const startMs = performance.now();
    fsyncSync(file);
    return performance.now() - startMs;
  });
  closeSync(file);
  return median(times);
}
