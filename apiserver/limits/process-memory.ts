import { totalmem } from 'node:os';
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** The memory of this process, in bytes. */
export interface MemoryUse {
  /** The long-lived JavaScript objects, with garbage that is not collected yet. */
  readonly heap: number;
  /** The limit of `heap`. V8 ends the process when it is exceeded. */
  readonly heapLimit: number;
  readonly resident: number;
  /** The memory that the system grants to this process: its part of the memory of the container or machine. */
  readonly residentLimit: number;
}

/** Measures the memory of a process. */
export interface MemoryMeter {
  read(): MemoryUse;
  /** Frees all garbage of the heap. This blocks the process, for 50 to 100 ms with 100 MB. */
  collect(): void;
}

/** V8's default for `--max-semi-space-size`, in MiB, by the major version of Node. */
const semiSpaces: Readonly<Record<string, number>> = { 20: 16, 22: 16, 24: 64, 26: 32 };

/**
 * The default for `--max-semi-space-size`, in MiB, that is assumed for versions of Node that are not in
 * {@link semiSpaces}. If it is too large, the limit of the heap is merely lower than necessary. If it is too small, V8
 * ends the process before the limit is reached.
 */
const largestSemiSpace = 64;

/**
 * Returns the meter of this process. `processes` is the number of processes among which the memory of the container or
 * machine is divided.
 */
export function processMemory(processes: number): MemoryMeter {
  const young = youngBytes([...process.execArgv, ...(process.env['NODE_OPTIONS'] ?? '').split(/\s+/)]);
  const heapLimit = getHeapStatistics().heap_size_limit - young;
  const residentLimit = grantedMemory(processes);
  return {
    read: () => ({ heap: oldBytes(), heapLimit, resident: process.memoryUsage.rss(), residentLimit }),
    collect: () => collector()(),
  };
}

/**
 * Returns the bytes of memory that the system grants to each of `processes` processes: their part of the memory of the
 * container or machine.
 */
export function grantedMemory(processes: number): number {
  // `constrainedMemory` returns the memory limit of the container. If there is no limit, it returns 0, or a number that
  // is larger than the memory of the machine. The memory of the machine then counts as the limit.
  return Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem()) / processes;
}

/**
 * Returns the part of `heap_size_limit` that is reserved for new JavaScript objects. Long-lived objects cannot use it.
 */
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

/**
 * Returns a function that runs V8's garbage collector. Only contexts that are created after `--expose-gc` is set have
 * the function `gc`, so it is taken from a new context.
 */
function collector(): () => void {
  if (gc !== undefined) return gc;
  setFlagsFromString('--expose-gc');
  const found: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  gc = typeof found === 'function' ? () => void Reflect.apply(found, undefined, []) : () => undefined;
  return gc;
}
