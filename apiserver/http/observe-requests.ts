import { isApiError } from '@homeostat/controller-runtime/api';
import type { Clock } from '@homeostat/controller-runtime/api';
import { failSpan, metricsContentType } from '@homeostat/controller-runtime/telemetry';
import type { Counter, Family, Histogram, Metrics, Span, SpanOptions } from '@homeostat/controller-runtime/telemetry';
import type { Context, Middleware } from 'koa';
import { requireRead } from './response/cacheable-answer.ts';
import { withoutTrailingSlash } from './pages/health.ts';
import { requestVerb } from './request/resource-path.ts';

/** The upper bounds of the buckets, in seconds: the bounds of Kubernetes, and further ones for short times. */
const buckets = [
  0.0005, 0.001, 0.0025, 0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30,
  45, 60,
];

const subresources: readonly string[] = ['status', 'scale', 'finalize'];

/**
 * The labels of the metrics of a request. If the path is not that of a served kind, all labels except the verb are
 * empty.
 */
interface Asked {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
}

interface Series extends Asked {
  readonly duration: Histogram;
  readonly codes: Map<number, Counter>;
}

/** A request in progress. */
export interface Observed {
  readonly sinceMs: number;
  readonly inflight: { value: number };
}

/** Counts and measures requests. */
export class RequestObserver {
  readonly #clock: Clock;
  readonly #total: Family<Counter>;
  readonly #duration: Family<Histogram>;
  readonly #inflight: Readonly<Record<'readOnly' | 'mutating', { value: number }>>;
  readonly #series = new Map<string, Series>();
  /** A cache: the series of the last request. */
  #last: Series | undefined;

  constructor(metrics: Metrics, clock: Clock) {
    this.#clock = clock;
    const labels = ['verb', 'group', 'resource', 'subresource'];
    const total = {
      name: 'apiserver_request_total',
      help: 'Requests that have a response, and watches that have begun.',
    };
    this.#total = metrics.counter({ ...total, labels: [...labels, 'code'] });
    const duration = {
      name: 'apiserver_request_duration_seconds',
      help: 'The time from a request to its response; for a watch, to its start.',
    };
    this.#duration = metrics.histogram({ ...duration, labels, buckets });
    const inflight = { name: 'apiserver_current_inflight_requests', help: 'Requests whose response has not begun.' };
    const kinds = metrics.gauge({ ...inflight, labels: ['request_kind'] });
    this.#inflight = { readOnly: kinds.of('readOnly'), mutating: kinds.of('mutating') };
  }

  /** Notes that a request has arrived. A call of {@link end} must follow. */
  begin({ method }: Context): Observed {
    const inflight = this.#inflight[method === 'GET' || method === 'HEAD' ? 'readOnly' : 'mutating'];
    inflight.value += 1;
    return { sinceMs: this.#clock.monotonicMs(), inflight };
  }

  /** Counts a request, and records its duration. It is called when the response is known. */
  end(context: Context, { sinceMs, inflight }: Observed, failure: Failure | undefined): void {
    inflight.value -= 1;
    const asked = askedOf(context);
    // Requests for the same kind often follow each other, so the metrics of the last request are kept: to create the
    // key that finds them in the map takes as long as the rest of this function.
    const last = this.#last;
    const isSame =
      asked.verb === last?.verb &&
      asked.resource === last.resource &&
      asked.group === last.group &&
      asked.subresource === last.subresource;
    const { codes, duration } = (this.#last = isSame ? last : this.#seriesOf(asked));
    const statusCode = statusOf(context, failure);
    let counter = codes.get(statusCode);
    if (counter === undefined) {
      const { verb, group, resource, subresource } = asked;
      counter = this.#total.of(verb, group, resource, subresource, String(statusCode));
      codes.set(statusCode, counter);
    }
    counter.inc();
    duration.observe((this.#clock.monotonicMs() - sinceMs) / 1000);
  }

  #seriesOf({ verb, group, resource, subresource }: Asked): Series {
    const key = `${verb} ${group}/${resource}/${subresource}`;
    const duration = (): Histogram => this.#duration.of(verb, group, resource, subresource);
    const series = this.#series.get(key) ?? {
      verb,
      group,
      resource,
      subresource,
      duration: duration(),
      codes: new Map(),
    };
    this.#series.set(key, series);
    return series;
  }
}

interface MetricsParts {
  readonly metrics: Metrics;
  readonly gatherMetrics: (own: string) => string | Promise<string>;
}

/** Handles `GET /metrics`, for Prometheus. `gatherMetrics` may add the metrics of other processes. */
export function metricsRoute({ metrics, gatherMetrics }: MetricsParts): Middleware {
  const answer = async (context: Context): Promise<void> => {
    requireRead(context);
    const text = await gatherMetrics(metrics.text());
    context.status = 200;
    context.set('Content-Type', metricsContentType);
    context.set('Cache-Control', 'no-cache, private');
    context.body = Buffer.from(text);
  };
  return function answerMetrics(context, next) {
    return withoutTrailingSlash(context.path) === '/metrics' ? answer(context) : next();
  };
}

function askedOf(context: Context): Asked {
  const path = context.state.servedPath;
  const verb = requestVerb(context, path);
  if (path === undefined) return { verb, group: '', resource: '', subresource: '' };
  const { group, plural, subresource = '' } = path;
  return { verb, group, resource: plural, subresource: subresources.includes(subresource) ? subresource : '' };
}

/** The error that the handler of a request threw. */
export interface Failure {
  readonly error: unknown;
}

/**
 * Returns the status code of the response. If the request failed before the headers were sent, the code is that of the
 * error, because the error response is not written yet.
 */
function statusOf(context: Context, failure: Failure | undefined): number {
  if (failure === undefined || context.headerSent) return context.status;
  return isApiError(failure.error) ? failure.error.code : 500;
}

/** Sets the name and the attributes of a span that are known only after the request was routed and handled. */
export function describeSpan(span: Span, context: Context, failure: Failure | undefined): void {
  const statusCode = statusOf(context, failure);
  const { verb, resource } = askedOf(context);
  span.updateName(`${verb} ${resource}`.trimEnd());
  span.setAttribute('http.response.status_code', statusCode);
  if (statusCode >= 500) failSpan(span, `status ${statusCode}`);
}

/** The span of a request, in the trace that its headers name. */
export function spanOf(context: Context): SpanOptions {
  const { method, path, headers } = context;
  return { name: method, kind: 'server', headers, attributes: { 'http.request.method': method, 'url.path': path } };
}
