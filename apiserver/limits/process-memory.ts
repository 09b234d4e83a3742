import { totalmem } from 'node:os';
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** The memory of this process, in bytes. */
export interface MemoryUse {
  /** Objects of JavaScript that live long, with garbage that is not collected yet. */
  readonly heap: number;
  /** V8 ends the process when `heap` exceeds this. */
  readonly heapLimit: number;
  readonly resident: number;
  /** The memory that the system grants: that of the container, or of the machine. */
  readonly residentLimit: number;
}

/** Measures the memory of a process. */
export interface MemoryMeter {
  read(): MemoryUse;
  /** Frees all garbage of the heap at once, which blocks the process: 100 MB take 50 to 100 ms. */
  collect(): void;
}

/** V8's default for `--max-semi-space-size`, in MiB, by the line of Node. */
const semiSpaces: Readonly<Record<string, number>> = { 20: 16, 22: 16, 24: 64, 26: 32 };

/**
 * The default of other lines. With a value that is too large, the limit is only lower; with one that is too small, V8
 * ends the process before the limit is reached.
 */
const largestSemiSpace = 64;

/** The meter of this process, which shares the memory that the system grants with others: `processes` in all. */
export function processMemory(processes: number): MemoryMeter {
  const young = youngBytes([...process.execArgv, ...(process.env['NODE_OPTIONS'] ?? '').split(/\s+/)]);
  const heapLimit = getHeapStatistics().heap_size_limit - young;
  // Without a limit, the system reports 0 or a number beyond all memory. Objects are outside of the heap, so without a
  // limit only the memory of the machine bounds them.
  const granted = Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem());
  const residentLimit = granted / processes;
  return {
    read: () => ({ heap: oldBytes(), heapLimit, resident: process.memoryUsage.rss(), residentLimit }),
    collect: () => collector()(),
  };
}

/** The part of `heap_size_limit` that new objects have: objects that stay cannot use it. */
function youngBytes(options: readonly string[]): number {
  const flag = /^--max[-_]semi[-_]space[-_]size=(\d+)$/;
  const sizes = options.flatMap((option) => flag.exec(option)?.[1] ?? []);
  const [line = ''] = process.versions.node.split('.');
  return 3 * Number(sizes.at(-1) ?? semiSpaces[line] ?? largestSemiSpace) * 1024 * 1024;
}

function oldBytes(): number {
  const spaces = getHeapSpaceStatistics().filter(({ space_name: name }) => !name.startsWith('new_'));
  return spaces.reduce((sum, { space_used_size: used }) => sum + used, 0);
}

let gc: (() => void) | undefined;

/** V8's collector. The flag takes effect in contexts that are made after it. */
function collector(): () => void {
  if (gc !== undefined) return gc;
  setFlagsFromString('--expose-gc');
  const found: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  gc = typeof found === 'function' ? () => void Reflect.apply(found, undefined, []) : () => undefined;
  return gc;
}
