import type { Clock } from '@homeostat/controller-runtime/api';
import type { Counter, Family, Histogram, Metrics } from '@homeostat/controller-runtime/telemetry';
import type { AdmissionVerdict } from './admission-review.ts';

/** Seconds; those of kube-apiserver. */
const buckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25];

/** A call whose end is not known yet. */
export interface MeasuredCall {
  readonly name: string;
  /** True for mutating webhooks. */
  readonly mayPatch: boolean;
  readonly operation: string;
  readonly sinceMs: number;
}

/** Counts and measures calls of webhooks, with the names and labels of kube-apiserver. */
export class WebhookMetrics {
  readonly #clock: Clock;
  readonly #duration: Family<Histogram>;
  readonly #rejections: Family<Counter>;
  readonly #ignored: Family<Counter>;

  constructor(metrics: Metrics, clock: Clock) {
    this.#clock = clock;
    const labels = ['name', 'type', 'operation'];
    this.#duration = metrics.histogram({
      name: 'apiserver_admission_webhook_admission_duration_seconds',
      help: 'Time of calls of webhooks.',
      labels: [...labels, 'rejected'],
      buckets,
    });
    this.#rejections = metrics.counter({
      name: 'apiserver_admission_webhook_rejection_count',
      help: 'Writes that webhooks refused, or that were refused because a call failed.',
      labels: [...labels, 'error_type', 'rejection_code'],
    });
    this.#ignored = metrics.counter({
      name: 'apiserver_admission_webhook_fail_open_count',
      help: 'Calls of webhooks that failed, and were ignored.',
      labels: ['name', 'type'],
    });
  }

  begin(call: Omit<MeasuredCall, 'sinceMs'>): MeasuredCall {
    return { ...call, sinceMs: this.#clock.monotonicMs() };
  }

  /** Called with the webhook's decision. */
  answered(call: MeasuredCall, { isAllowed, result }: AdmissionVerdict): void {
    this.#measure(call, !isAllowed);
    const code = typeof result['code'] === 'number' && result['code'] >= 400 ? result['code'] : 400;
    if (!isAllowed) this.#rejections.of(...labelsOf(call), 'no_error', code.toString()).inc();
  }

  /** Called when there is no decision. */
  failed(call: MeasuredCall, isIgnored: boolean): void {
    this.#measure(call, !isIgnored);
    if (isIgnored) this.#ignored.of(call.name, typeOf(call)).inc();
    else this.#rejections.of(...labelsOf(call), 'calling_webhook_error', '0').inc();
  }

  #measure(call: MeasuredCall, isRejected: boolean): void {
    const seconds = (this.#clock.monotonicMs() - call.sinceMs) / 1000;
    this.#duration.of(...labelsOf(call), String(isRejected)).observe(seconds);
  }
}

function typeOf({ mayPatch }: MeasuredCall): string {
  return mayPatch ? 'admit' : 'validating';
}

function labelsOf(call: MeasuredCall): readonly [name: string, type: string, operation: string] {
  return [call.name, typeOf(call), call.operation];
}
