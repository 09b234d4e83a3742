import type { Clock } from '@homeostat/controller-runtime/api';
import type { Counter, Family, Histogram, Metrics } from '@homeostat/controller-runtime/telemetry';
import type { AdmissionVerdict } from './admission-review.ts';

/** The buckets of the histogram in seconds, the same as in kube-apiserver. */
const buckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25];

/** The largest status code in a label. A larger code is counted as this code. */
const maxCode = 600;

/** A call of a webhook, as the metrics need it. The call is still running or has ended. */
export interface MeasuredCall {
  readonly name: string;
  /** True when the webhook is a mutating one. */
  readonly mayPatch: boolean;
  readonly operation: string;
  readonly sinceMs: number;
}

/** Counts and measures calls of webhooks, with the names and labels of kube-apiserver. */
export class WebhookMetrics {
  readonly #clock: Clock;
  readonly #duration: Family<Histogram>;
  readonly #requests: Family<Counter>;
  readonly #rejections: Family<Counter>;
  readonly #ignored: Family<Counter>;

  constructor(metrics: Metrics, clock: Clock) {
    this.#clock = clock;
    const labels = ['name', 'type', 'operation'];
    this.#duration = metrics.histogram({
      name: 'apiserver_admission_webhook_admission_duration_seconds',
      help: 'The duration of calls of webhooks.',
      labels: [...labels, 'rejected'],
      buckets,
    });
    this.#requests = metrics.counter({
      name: 'apiserver_admission_webhook_request_total',
      help: 'Calls of webhooks.',
      labels: [...labels, 'code', 'rejected'],
    });
    this.#rejections = metrics.counter({
      name: 'apiserver_admission_webhook_rejection_count',
      help: 'Writes that webhooks refused, or that were refused because a call failed.',
      labels: [...labels, 'error_type', 'rejection_code'],
    });
    this.#ignored = metrics.counter({
      name: 'apiserver_admission_webhook_fail_open_count',
      help: 'Failed calls of webhooks whose failurePolicy is Ignore.',
      labels: ['name', 'type'],
    });
  }

  begin(call: Omit<MeasuredCall, 'sinceMs'>): MeasuredCall {
    return { ...call, sinceMs: this.#clock.monotonicMs() };
  }

  /** Records a call that ended with the webhook's decision. */
  answered(call: MeasuredCall, { isAllowed, result }: AdmissionVerdict): void {
    const refused = typeof result['code'] === 'number' && result['code'] >= 400 ? result['code'] : 400;
    // The code is limited, so that a webhook cannot create an unlimited number of time series.
    const code = isAllowed ? '200' : Math.min(Math.trunc(refused), maxCode).toString();
    this.#measure(call, code, !isAllowed);
    if (!isAllowed) this.#rejections.of(...labelsOf(call), 'no_error', code).inc();
  }

  /** Records a call that ended without a decision. `status` is the code by which kube-apiserver counts the failure. */
  failed(call: MeasuredCall, { isIgnored, status }: { readonly isIgnored: boolean; readonly status: number }): void {
    const code = Math.min(status, maxCode).toString();
    this.#measure(call, code, !isIgnored);
    if (isIgnored) this.#ignored.of(call.name, typeOf(call)).inc();
    else this.#rejections.of(...labelsOf(call), 'calling_webhook_error', code).inc();
  }

  #measure(call: MeasuredCall, code: string, isRejected: boolean): void {
    this.#requests.of(...labelsOf(call), code, String(isRejected)).inc();
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
