import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { Metrics, SampledOptions } from './metrics.ts';

/**
 * The interval at which the event loop's delay is measured. A shorter interval costs more, and would only show delays
 * that no request notices.
 */
const resolutionMs = 20;

type Figures = Readonly<Record<string, readonly [type: SampledOptions['type'], help: string, read: () => number]>>;

/**
 * Measures this process, with the metric names of Prometheus' client libraries. Returns a function that ends the
 * measurement.
 */
export function startProcessMetrics(metrics: Metrics): () => void {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  const lag = (nanoseconds: number): number => (Number.isFinite(nanoseconds) ? lateSeconds(nanoseconds) : 0);
  const figures: Figures = {
    ...resources,
    nodejs_eventloop_lag_mean_seconds: [
      'gauge',
      'The average delay of the event loop since the measurement began.',
      () => lag(delay.mean),
    ],
    nodejs_eventloop_lag_p99_seconds: [
      'gauge',
      'The 99th percentile of the delay of the event loop since the measurement began.',
      () => lag(delay.percentile(99)),
    ],
    nodejs_eventloop_lag_max_seconds: [
      'gauge',
      'The maximum delay of the event loop since the measurement began.',
      () => lag(delay.max),
    ],
  };
  const ends = Object.entries(figures).map(([name, [type, help, read]]) =>
    metrics.sample({ name, help, type }, () => [[[], read()]]),
  );
  return () => {
    delay.disable();
    for (const end of ends) end();
  };
}

/**
 * Converts a delay of the event loop from nanoseconds to seconds. `monitorEventLoopDelay` includes its own interval in
 * each delay, so this function subtracts the interval.
 */
function lateSeconds(nanoseconds: number): number {
  return Math.max(0, nanoseconds / 1e6 - resolutionMs) / 1000;
}

const resources: Figures = {
  process_cpu_user_seconds_total: ['counter', 'User CPU time.', () => process.cpuUsage().user / 1e6],
  process_cpu_system_seconds_total: ['counter', 'System CPU time.', () => process.cpuUsage().system / 1e6],
  process_cpu_seconds_total: [
    'counter',
    'User and system CPU time.',
    () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    },
  ],
  process_start_time_seconds: [
    'gauge',
    'The start of the process, in seconds since 1970.',
    () => performance.timeOrigin / 1000,
  ],
  process_resident_memory_bytes: ['gauge', 'Resident memory.', () => process.memoryUsage.rss()],
  nodejs_heap_size_total_bytes: ['gauge', 'Size of the heap.', () => process.memoryUsage().heapTotal],
  nodejs_heap_size_used_bytes: ['gauge', 'The used part of the heap.', () => process.memoryUsage().heapUsed],
  nodejs_external_memory_bytes: [
    'gauge',
    'Memory of objects outside of the heap.',
    () => process.memoryUsage().external,
  ],
};
