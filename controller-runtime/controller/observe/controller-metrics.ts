import type { QueueObserver } from '../../queue/queue-observer.ts';
import type { Counter, Histogram } from '../../telemetry/instruments.ts';
import type { MetricOptions, Metrics } from '../../telemetry/metrics.ts';
import type { Outcome } from '../run/outcome.ts';

/** Functions that return the current values of a queue. They are called when metrics are read. */
export interface QueueGauges {
  /** The number of keys in the work queue that can be reconciled now: no back-off delays them, and no run has them. */
  readonly depth: () => number;
  /** The ages of the runs under way, in milliseconds. */
  readonly running: () => readonly number[];
}

/**
 * The label `result` of the metrics, for each kind of outcome. Runs that exceed their timeout or fail permanently also
 * count as errors.
 */
const resultOf = {
  success: 'success',
  after: 'requeue_after',
  requeue: 'requeue',
  stopped: 'requeue',
  paused: 'success',
  conflict: 'conflict',
  error: 'error',
  terminal: 'error',
  timeout: 'error',
} as const satisfies Record<Outcome['kind'], string>;

type Result = (typeof resultOf)[Outcome['kind']];

/** The limits of the buckets in seconds, as in Go's controller-runtime. */
const reconcileBuckets = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2,
  2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];

/** The limits of the buckets in seconds, as in client-go. */
const queueBuckets = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10, 100, 1000];

/** The metrics of a work queue, with client-go's names. */
export class QueueMetrics implements QueueObserver {
  readonly #adds: Counter;
  readonly #retries: Counter;
  readonly #queueTime: Histogram;
  readonly #workTime: Histogram;

  constructor(metrics: Metrics, { name, controller }: QueueName) {
    this.#adds = metrics.counter(ofQueue('adds_total', 'Keys that became ready.')).of(name, controller);
    const retries = 'Keys that returned to the queue with a back-off, after a failure, a conflict or a requeue.';
    this.#retries = metrics.counter(ofQueue('retries_total', retries)).of(name, controller);
    const seconds = (metric: string, help: string): Histogram =>
      metrics.histogram({ ...ofQueue(metric, help), buckets: queueBuckets }).of(name, controller);
    this.#queueTime = seconds('queue_duration_seconds', 'The time that keys were ready before their processing began.');
    this.#workTime = seconds('work_duration_seconds', 'The time that the processing of a key took.');
  }

  added(): void {
    this.#adds.inc();
  }

  taken(waitedMs: number): void {
    this.#queueTime.observe(waitedMs / 1000);
  }

  retried(): void {
    this.#retries.inc();
  }

  /** Called when a key is done, with the time for which the key was being processed. */
  worked(durationMs: number): void {
    this.#workTime.observe(durationMs / 1000);
  }
}

/**
 * The labels of a queue's metrics. The queue of a controller's keys has the name of the controller; any other queue has
 * a name of its own.
 */
export interface QueueName {
  readonly name: string;
  readonly controller: string;
}

/** The metrics of a controller, with the names of Go's controller-runtime. */
export class ControllerMetrics {
  readonly queue: QueueMetrics;
  readonly #results: Readonly<Record<Result, Counter>>;
  readonly #errors: Counter;
  readonly #terminalErrors: Counter;
  readonly #panics: Counter;
  readonly #timeouts: Counter;
  readonly #reconcileTime: Histogram;

  constructor(metrics: Metrics, { name, concurrency }: { readonly name: string; readonly concurrency: number }) {
    const runs = (metric: string, help: string): Counter => metrics.counter(ofController(metric, help)).of(name);
    const total = metrics.counter({
      ...ofController('reconcile_total', 'Runs, by their result.'),
      labels: ['controller', 'result'],
    });
    const result = (value: Result): Counter => total.of(name, value);
    this.#results = {
      success: result('success'),
      requeue_after: result('requeue_after'),
      requeue: result('requeue'),
      conflict: result('conflict'),
      error: result('error'),
    };
    this.#errors = runs('reconcile_errors_total', 'Runs that failed.');
    this.#terminalErrors = runs('terminal_reconcile_errors_total', 'Runs that failed permanently.');
    const bugs = 'Runs that a bug ended: TypeError without a cause, ReferenceError, RangeError.';
    this.#panics = runs('reconcile_panics_total', bugs);
    this.#timeouts = runs('reconcile_timeouts_total', 'Runs that outlasted their timeout.');
    const time = ofController('reconcile_time_seconds', 'The duration of runs.');
    this.#reconcileTime = metrics.histogram({ ...time, buckets: reconcileBuckets }).of(name);
    metrics.gauge(ofController('max_concurrent_reconciles', 'The maximum number of concurrent runs.')).of(name).value =
      concurrency;
    this.queue = new QueueMetrics(metrics, { name, controller: name });
  }

  /** Counts a run as failed as soon as it has exceeded its timeout. The end of this run is not a second failure. */
  timedOut(): void {
    this.#results.error.inc();
    this.#errors.inc();
    this.#timeouts.inc();
  }

  /** Counts a run that has ended. */
  ended(outcome: Outcome, durationMs: number): void {
    this.#reconcileTime.observe(durationMs / 1000);
    this.queue.worked(durationMs);
    if (outcome.kind === 'timeout') return;
    const result = resultOf[outcome.kind];
    this.#results[result].inc();
    if (result !== 'error') return;
    this.#errors.inc();
    if (outcome.kind === 'terminal') this.#terminalErrors.inc();
    if (outcome.kind === 'error' && isBug(outcome.error)) this.#panics.inc();
  }
}

/** Adds the gauges of a controller and of its queue to the metrics. The returned function removes them. */
export function sampleController(metrics: Metrics, name: string, gauges: QueueGauges): () => void {
  const workers = ofController('active_workers', 'Runs under way.');
  const endQueue = sampleQueue(metrics, { name, controller: name }, gauges);
  const endWorkers = metrics.sample({ ...workers, type: 'gauge' }, () => [[[name], gauges.running().length]]);
  return () => {
    endQueue();
    endWorkers();
  };
}

/** Adds the gauges of a queue to the metrics. The returned function removes them. */
export function sampleQueue(metrics: Metrics, queue: QueueName, { depth, running }: QueueGauges): () => void {
  const unfinished = ofQueue('unfinished_work_seconds', 'The sum of the ages of all runs under way.');
  const longest = ofQueue('longest_running_processor_seconds', 'The age of the longest run under way.');
  const type = 'gauge';
  const labels = [queue.name, queue.controller];
  const sum = (): number => running().reduce((total, ms) => total + ms, 0) / 1000;
  const ends = [
    metrics.sample({ ...ofQueue('depth', 'Keys that are ready.'), type }, () => [[labels, depth()]]),
    metrics.sample({ ...unfinished, type }, () => [[labels, sum()]]),
    metrics.sample({ ...longest, type }, () => [[labels, Math.max(0, ...running()) / 1000]]),
  ];
  return () => {
    for (const end of ends) end();
  };
}

function ofController(metric: string, help: string): MetricOptions {
  return { name: `controller_runtime_${metric}`, help, labels: ['controller'] };
}

function ofQueue(metric: string, help: string): MetricOptions {
  return { name: `workqueue_${metric}`, help, labels: ['name', 'controller'] };
}

/**
 * True for errors that would be panics in Go. A TypeError with a cause does not count: it comes from a failed fetch.
 */
function isBug(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error.name === 'TypeError') return error.cause === undefined;
  return error.name === 'ReferenceError' || error.name === 'RangeError';
}
