import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { median } from './figures.ts';

/** What figures depend on. An fsync of next to nothing says that the disk is memory, or that it lies. */
export function describeMachine(folder: string): string {
  const model = cpus()[0]?.model ?? 'unknown processor';
  const load = (loadavg()[0] ?? 0).toFixed(1);
  return (
    `Node ${process.versions.node}, ${availableParallelism().toString()} x ${model}, load ${load}; ` +
    `fsync in ${folder}: ${fsyncMs(folder).toFixed(2)} ms`
  );
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
