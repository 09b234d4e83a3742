import { isApiError } from '@homeostat/controller-runtime/api';
import type { Clock } from '@homeostat/controller-runtime/api';
import { failSpan, inSpan, metricsContentType } from '@homeostat/controller-runtime/telemetry';
import type { Counter, Family, Histogram, Metrics, Span, SpanOptions } from '@homeostat/controller-runtime/telemetry';
import type { Context, Middleware } from 'koa';
import { requireRead } from './response/cacheable-answer.ts';
import { withoutTrailingSlash } from './pages/health.ts';
import { requestVerb } from './request/request-verb.ts';
import type { ResourcePath } from './request/resource-path.ts';

/** Upper bounds in seconds: those of Kubernetes, and finer ones at the lower end. */
const buckets = [
  0.0005, 0.001, 0.0025, 0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30,
  45, 60,
];

const subresources: readonly string[] = ['status', 'scale', 'finalize'];

/** The labels of a request; for a request that names no kind, only the verb. */
interface Asked {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
}

interface Series {
  readonly duration: Histogram;
  readonly codes: Map<number, Counter>;
}

/** The key of the path of a served kind. It is set once the kind is found, so that no client can invent labels. */
const pathKey = 'resourcePath';

declare module 'koa' {
  interface DefaultState {
    resourcePath?: ResourcePath;
  }
}

export function noteResourcePath(context: Context, path: ResourcePath): void {
  context.state[pathKey] = path;
}

/** Counts and measures requests, and puts each into a span of the trace that its headers name. */
export class RequestObserver {
  readonly #clock: Clock;
  readonly #total: Family<Counter>;
  readonly #duration: Family<Histogram>;
  readonly #inflight: Readonly<Record<'readOnly' | 'mutating', { value: number }>>;
  readonly #series = new Map<string, Series>();

  constructor(metrics: Metrics, clock: Clock) {
    this.#clock = clock;
    const labels = ['verb', 'group', 'resource', 'subresource'];
    const total = { name: 'apiserver_request_total', help: 'Requests with a response, and watches that began.' };
    this.#total = metrics.counter({ ...total, labels: [...labels, 'code'] });
    const duration = {
      name: 'apiserver_request_duration_seconds',
      help: 'Time to the response; for watches, to their beginning.',
    };
    this.#duration = metrics.histogram({ ...duration, labels, buckets });
    const inflight = { name: 'apiserver_current_inflight_requests', help: 'Requests under way, without watches.' };
    const kinds = metrics.gauge({ ...inflight, labels: ['request_kind'] });
    this.#inflight = { readOnly: kinds.of('readOnly'), mutating: kinds.of('mutating') };
  }

  /** The middleware; it belongs before all handlers, and behind the one that turns errors into responses. */
  middleware(): Middleware {
    return async (context, next): Promise<void> => {
      const sinceMs = this.#clock.monotonicMs();
      const inflight = this.#inflight[isReading(context) ? 'readOnly' : 'mutating'];
      let failure: Failure | undefined;
      inflight.value += 1;
      try {
        await inSpan(
          () => spanOf(context),
          (span) => {
            if (span === undefined) return next();
            return failureOf(next).then((found) => {
              failure = found;
              return describe(span, context, statusOf(context, found));
            });
          },
        );
      } catch (error) {
        failure = { error };
      }
      inflight.value -= 1;
      this.#count(context, { durationMs: this.#clock.monotonicMs() - sinceMs, failure });
      if (failure !== undefined) throw failure.error;
    };
  }

  #count(
    context: Context,
    { durationMs, failure }: { readonly durationMs: number; readonly failure?: Failure | undefined },
  ): void {
    const asked = askedOf(context);
    const series = this.#seriesOf(asked);
    const statusCode = statusOf(context, failure);
    let counter = series.codes.get(statusCode);
    if (counter === undefined) {
      const { verb, group, resource, subresource } = asked;
      counter = this.#total.of(verb, group, resource, subresource, String(statusCode));
      series.codes.set(statusCode, counter);
    }
    counter.inc();
    series.duration.observe(durationMs / 1000);
  }

  #seriesOf({ verb, group, resource, subresource }: Asked): Series {
    const key = `${verb} ${group}/${resource}/${subresource}`;
    let series = this.#series.get(key);
    if (series === undefined) {
      series = { duration: this.#duration.of(verb, group, resource, subresource), codes: new Map() };
      this.#series.set(key, series);
    }
    return series;
  }
}

/** `GET /metrics`, for Prometheus. */
export function metricsRoute(metrics: Metrics): Middleware {
  return function answerMetrics(context, next) {
    if (withoutTrailingSlash(context.path) !== '/metrics') return next();
    requireRead(context);
    context.status = 200;
    context.set('Content-Type', metricsContentType);
    context.set('Cache-Control', 'no-cache, private');
    context.body = Buffer.from(metrics.text());
    return undefined;
  };
}

function isReading({ method }: Context): boolean {
  return method === 'GET' || method === 'HEAD';
}

function askedOf(context: Context): Asked {
  const path = context.state[pathKey];
  const verb = requestVerb(context, path);
  if (path === undefined) return { verb, group: '', resource: '', subresource: '' };
  const { group, plural, subresource = '' } = path;
  return { verb, group, resource: plural, subresource: subresources.includes(subresource) ? subresource : '' };
}

interface Failure {
  readonly error: unknown;
}

/**
 * Returns errors instead of rejecting: a span would record a rejection, but a client's error is not an error of the
 * span.
 */
async function failureOf(next: () => Promise<unknown>): Promise<Failure | undefined> {
  try {
    await next();
    return undefined;
  } catch (error) {
    return { error };
  }
}

/** The status code of the response, which is not written yet when the request failed. */
function statusOf({ res }: Context, failure: Failure | undefined): number {
  if (failure === undefined || res.headersSent) return res.statusCode;
  return isApiError(failure.error) ? failure.error.code : 500;
}

/** Adds the attributes that are known after routing and after the response. */
function describe(span: Span, context: Context, statusCode: number): void {
  const { verb, resource } = askedOf(context);
  span.updateName(`${verb} ${resource}`.trimEnd());
  span.setAttribute('http.response.status_code', statusCode);
  if (statusCode >= 500) failSpan(span, `status ${statusCode}`);
}

function spanOf(context: Context): SpanOptions {
  const { method, path, headers } = context;
  return { name: method, kind: 'server', headers, attributes: { 'http.request.method': method, 'url.path': path } };
}
