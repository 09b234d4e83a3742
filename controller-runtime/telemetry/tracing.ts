import { createRequire } from 'node:module';
import type * as Api from '@opentelemetry/api';
import type { Context, Link } from '@opentelemetry/api';

type TraceApi = typeof Api;

/** The place where every copy of OpenTelemetry's API stores the installed providers. */
const globalKey = Symbol.for('opentelemetry.js.api.1');

const require = createRequire(import.meta.url);
let loaded: TraceApi | undefined;
let isMissing = false;

/**
 * OpenTelemetry's API, once the program has installed a tracer provider; undefined before. The check reads one
 * global. Programs without tracing do not load the API, which takes 20 ms, and need not install it: it is an optional
 * peer, which comes with every SDK.
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
      `there are no traces of homeostat, although a tracer is installed: npm install @opentelemetry/api (${message})`,
    );
    return undefined;
  }
}

/** The operations of a program on a span; the `Span` of OpenTelemetry's API has them. */
export interface Span {
  setAttribute(name: string, value: string | number | boolean): unknown;
  updateName(name: string): unknown;
  recordException(exception: Error | string): void;
  /** The code is 1 for OK and 2 for ERROR. */
  setStatus(status: { readonly code: number; readonly message?: string }): unknown;
}

export interface SpanOptions {
  /** Has low cardinality: it names the operation, never the object. */
  readonly name: string;
  readonly kind: 'server' | 'client' | 'internal';
  readonly attributes?: Readonly<Record<string, string | number | boolean>>;
  /**
   * Begins a trace with links to these spans, given by their traceparent; when absent, the span is a child of the
   * present one.
   */
  readonly causes?: readonly string[];
  /** Headers of a request: the span becomes a child of the span that they name. */
  readonly headers?: object;
}

type Installed = NonNullable<ReturnType<typeof installedApi>>;

const noHeaders: Readonly<Record<string, string>> = Object.freeze({});

/** The spans in which states of objects were written, for as long as these states are in memory. */
const origins = new WeakMap<object, string>();

/**
 * Does the work in a span, which is the active span for everything that the work awaits. Without an SDK it only does
 * the work, and does not make the options. A rejection is recorded, and passed on.
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

/** Marks the work of the span as failed. */
export function failSpan(span: Span, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  span.recordException(error instanceof Error ? error : message);
  // 2 is ERROR. The API, which has constants for it, may not be loaded.
  span.setStatus({ code: 2, message });
}

/** The W3C traceparent of the present span; undefined without one. */
export function currentTraceparent(): string | undefined {
  const api = installedApi();
  const span = api?.trace.getSpanContext(api.context.active());
  if (span === undefined) return undefined;
  const flags = (span.traceFlags & 0xff).toString(16).padStart(2, '0');
  return `00-${span.traceId}-${span.spanId}-${flags}`;
}

/** Headers for a request that belongs to the present span, as the program's propagator writes them. */
export function traceHeaders(): Readonly<Record<string, string>> {
  const api = installedApi();
  if (api === undefined) return noHeaders;
  const headers: Record<string, string> = {};
  api.propagation.inject(api.context.active(), headers);
  return headers;
}

/** Remembers the write that made a state of an object. */
export function noteOrigin(state: object, traceparent: string): void {
  origins.set(state, traceparent);
}

/** The traceparent of the write that made this state, if it is known. */
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
