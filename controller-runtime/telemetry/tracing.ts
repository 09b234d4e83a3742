import { createRequire } from 'node:module';
import type * as Api from '@opentelemetry/api';
import type { Context, Link } from '@opentelemetry/api';

type TraceApi = typeof Api;

/** The global key under which every copy of OpenTelemetry's API stores the installed providers. */
const globalKey = Symbol.for('opentelemetry.js.api.1');

const require = createRequire(import.meta.url);
let loaded: TraceApi | undefined;
let isMissing = false;

/**
 * Returns OpenTelemetry's API once the program has installed a tracer provider; undefined before that, and when the API
 * cannot be loaded. The check reads one global. Programs without tracing do not load the API, which takes 20 ms, and
 * need not install it: it is an optional peer dependency, and every SDK brings it.
 */
function installedApi(): TraceApi | undefined {
  const installed: unknown = Reflect.get(globalThis, globalKey);
  if (typeof installed !== 'object' || installed === null || !('trace' in installed) || installed.trace === undefined)
    return undefined;
  if (loaded === undefined && !isMissing) loaded = loadApi();
  return loaded;
}

function loadApi(): TraceApi | undefined {
  try {
    return require('@opentelemetry/api') as TraceApi;
  } catch (error) {
    isMissing = true;
    const message = error instanceof Error ? error.message.split('\n', 1)[0] : String(error);
    process.emitWarning(
      `homeostat records no traces, although a tracer is installed: npm install @opentelemetry/api (${message})`,
    );
    return undefined;
  }
}

/** The methods of a span that this package uses. The `Span` of OpenTelemetry's API has them. */
export interface Span {
  setAttribute(name: string, value: string | number | boolean): unknown;
  updateName(name: string): unknown;
  recordException(exception: Error | string): void;
  /** The code is 1 for OK and 2 for ERROR. */
  setStatus(status: { readonly code: number; readonly message?: string }): unknown;
}

export interface SpanOptions {
  /** The name of the span. It must have low cardinality: it names the operation, never the object. */
  readonly name: string;
  readonly kind: 'server' | 'client' | 'internal';
  readonly attributes?: Readonly<Record<string, string | number | boolean>>;
  /**
   * The traceparents of the spans that caused this work. If given, the span begins a new trace with links to these
   * spans. If `causes` and `headers` are absent, the span is a child of the current span.
   */
  readonly causes?: readonly string[];
  /**
   * The headers of a request. The span is a child of the span that they name, or begins a new trace if they name none.
   */
  readonly headers?: object;
}

type Installed = NonNullable<ReturnType<typeof installedApi>>;

const noHeaders: Readonly<Record<string, string>> = Object.freeze({});

/** The traceparents of the spans in which states of objects were written, for as long as the states are in memory. */
const origins = new WeakMap<object, string>();

/**
 * Runs the work in a span, which is the active span for everything that the work awaits. Without an SDK, it only runs
 * the work, and does not call the function for the options. When the work rejects, the error is recorded in the span,
 * and the returned promise rejects with it.
 */
export function inSpan<R>(options: () => SpanOptions, work: (span: Span | undefined) => Promise<R>): Promise<R> {
  const api = installedApi();
  return api === undefined ? work(undefined) : traced(api, options(), work);
}

async function traced<R>(api: Installed, options: SpanOptions, work: (span: Span) => Promise<R>): Promise<R> {
  const { name, attributes = {}, causes = [] } = options;
  const kind = { server: api.SpanKind.SERVER, client: api.SpanKind.CLIENT, internal: api.SpanKind.INTERNAL }[
    options.kind
  ];
  const links = causes.map(linkTo).filter((link) => link !== undefined);
  const parent = parentOf(api, options);
  const span = api.trace.getTracer('homeostat').startSpan(name, { kind, attributes, links }, parent);
  try {
    return await api.context.with(api.trace.setSpan(parent, span), () => work(span));
  } catch (error) {
    failSpan(span, error);
    throw error;
  } finally {
    span.end();
  }
}

/** Marks a span as failed, and records the error. */
export function failSpan(span: Span, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  span.recordException(error instanceof Error ? error : message);
  // The code 2 is ERROR. The API has a constant for it, but the API may not be loaded.
  span.setStatus({ code: 2, message });
}

/** Returns the W3C traceparent of the current span; undefined when there is none. */
export function currentTraceparent(): string | undefined {
  const api = installedApi();
  const span = api?.trace.getSpanContext(api.context.active());
  if (span === undefined) return undefined;
  const flags = (span.traceFlags & 0xff).toString(16).padStart(2, '0');
  return `00-${span.traceId}-${span.spanId}-${flags}`;
}

/** Returns the headers for a request within the current span, as the program's propagator writes them. */
export function traceHeaders(): Readonly<Record<string, string>> {
  const api = installedApi();
  if (api === undefined) return noHeaders;
  const headers: Record<string, string> = {};
  api.propagation.inject(api.context.active(), headers);
  return headers;
}

/** Remembers the traceparent of the span in which a state of an object was written. */
export function noteOrigin(state: object, traceparent: string): void {
  origins.set(state, traceparent);
}

/** Returns the traceparent of the span in which this state was written; undefined when it is not known. */
export function originOf(state: object): string | undefined {
  return origins.get(state);
}

function parentOf(api: Installed, { causes, headers }: SpanOptions): Context {
  if (headers !== undefined) return api.propagation.extract(api.ROOT_CONTEXT, headers);
  return causes === undefined ? api.context.active() : api.ROOT_CONTEXT;
}

function linkTo(traceparent: string): Link | undefined {
  const [, traceId, spanId, flags] = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { context: { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true } };
}
