import type { Clock } from '../../api/index.ts';
import type { WorkItem } from '../../queue/queue-entry.ts';
import type { QueueObserver } from '../../queue/queue-observer.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { failSpan, inSpan, type Span, type SpanOptions } from '../../telemetry/tracing.ts';
import { ControllerMetrics, sampleController } from './controller-metrics.ts';
import type { Outcome } from '../run/outcome.ts';
import { RunHistory, type RunRecord } from './run-history.ts';

export interface RunObserverParts {
  readonly controller: { readonly name: string; readonly concurrency: number };
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** Returns the number of keys that are ready. */
  readonly depth: () => number;
}

export interface ObservedRun {
  readonly item: WorkItem;
  readonly reconcileID: string;
}

/** The outcome of a run, and its entry in the history. */
export interface EndedRun {
  readonly outcome: Outcome;
  readonly record: RunRecord;
}

/** The maximum number of characters of an error. Without it, an error that quotes whole objects could be very long. */
const maxErrorLength = 1024;

const resultOf = {
  success: 'success',
  after: 'requeue_after',
  requeue: 'requeue',
  stopped: 'stopped',
  paused: 'paused',
  conflict: 'conflict',
  error: 'error',
  terminal: 'terminal',
  timeout: 'timeout',
} as const satisfies Record<Outcome['kind'], RunRecord['result']>;

/** Records a controller's runs in the metrics, in the history, and in a span for each run. */
export class RunObserver {
  readonly history: RunHistory = new RunHistory();
  readonly #parts: RunObserverParts;
  readonly #metrics: ControllerMetrics;
  /** The runs under way, with the times at which they began. */
  readonly #running = new Set<{ readonly sinceMs: number }>();
  readonly #endSamples: () => void;

  constructor(parts: RunObserverParts) {
    this.#parts = parts;
    const { controller, metrics, depth } = parts;
    this.#metrics = new ControllerMetrics(metrics, controller);
    this.#endSamples = sampleController(metrics, controller.name, { depth, running: () => this.#ages() });
  }

  /** Returns an observer of the queue that updates the metrics, and calls `onAdded` each time a key becomes ready. */
  queueFor(onAdded: () => void): QueueObserver {
    const { queue } = this.#metrics;
    return {
      added: () => {
        queue.added();
        onAdded();
      },
      taken: (waitedMs) => queue.taken(waitedMs),
      retried: () => queue.retried(),
    };
  }

  /** Called when a run that is under way has exceeded its timeout. */
  timedOut(): void {
    this.#metrics.timedOut();
  }

  /** Executes a run and records it. The run has a span of its own, which links to the writes that caused the run. */
  observe(run: ObservedRun, work: () => Promise<Outcome>): Promise<EndedRun> {
    return inSpan(
      () => this.#spanOf(run),
      (span) => this.#measure(run, work, span),
    );
  }

  #spanOf({ item, reconcileID }: ObservedRun): SpanOptions {
    const { name } = this.#parts.controller;
    const causes = item.reasons.flatMap(({ traceparent }) => traceparent ?? []);
    const attributes = {
      'homeostat.controller': name,
      'homeostat.key': item.key,
      'homeostat.reconcile_id': reconcileID,
      'homeostat.attempts': item.attempts,
    };
    return { name: `reconcile ${name}`, kind: 'internal', attributes, causes };
  }

  /** Called when the controller has stopped: removes its gauges, but not its counters. */
  stop(): void {
    this.#endSamples();
  }

  async #measure(run: ObservedRun, work: () => Promise<Outcome>, span: Span | undefined): Promise<EndedRun> {
    const { clock } = this.#parts;
    const startTime = clock.now();
    const running = { sinceMs: clock.monotonicMs() };
    this.#running.add(running);
    const outcome = await work();
    this.#running.delete(running);
    const durationMs = clock.monotonicMs() - running.sinceMs;
    this.#metrics.ended(outcome, durationMs);
    const { key, reasons, attempts } = run.item;
    const result = resultOf[outcome.kind];
    const ended = { key, reconcileID: run.reconcileID, reasons, attempts, startTime, durationMs, result };
    const record = 'error' in outcome ? { ...ended, error: textOf(outcome.error) } : ended;
    this.history.record(record);
    if (span !== undefined) describe(span, outcome);
    return { outcome, record };
  }

  #ages(): readonly number[] {
    const nowMs = this.#parts.clock.monotonicMs();
    return [...this.#running].map(({ sinceMs }) => nowMs - sinceMs);
  }
}

/**
 * Describes the outcome in the span. A conflict does not count as an error, because the next run follows as soon as the
 * cache has the newer state.
 */
function describe(span: Span, outcome: Outcome): void {
  span.setAttribute('homeostat.result', resultOf[outcome.kind]);
  if ('error' in outcome && outcome.kind !== 'conflict') failSpan(span, outcome.error);
}

function textOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, maxErrorLength);
}
