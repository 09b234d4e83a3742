/** The results of one round. */
export interface Figures {
  readonly opsPerSecond: number;
  readonly p50Ms: number;
  /** Absent when a round does not measure the latency of each operation. */
  readonly p99Ms?: number;
}

/** Returns the figures of operations with these latencies. It sorts the array. */
export function figuresOf(latenciesMs: Float64Array, elapsedMs: number): Figures {
  latenciesMs.sort();
  const rank = (share: number): number => latenciesMs[Math.floor((latenciesMs.length - 1) * share)] ?? Number.NaN;
  return { opsPerSecond: (latenciesMs.length / elapsedMs) * 1000, p50Ms: rank(0.5), p99Ms: rank(0.99) };
}

/** Returns the median. When there are two middle values, it returns the larger one. */
export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

/** Returns the median of each figure, separately from the other figures. */
export function medianFigures(rounds: readonly Figures[]): Figures {
  const tails = rounds.flatMap(({ p99Ms }) => (p99Ms === undefined ? [] : [p99Ms]));
  return {
    opsPerSecond: median(rounds.map(({ opsPerSecond }) => opsPerSecond)),
    p50Ms: median(rounds.map(({ p50Ms }) => p50Ms)),
    ...(tails.length === 0 ? {} : { p99Ms: median(tails) }),
  };
}
