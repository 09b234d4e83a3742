import { createRequire } from 'node:module';
import type * as Api from '@opentelemetry/api';
import type { Attributes, Context, Link, Span } from '@opentelemetry/api';

type TraceApi = typeof Api;

/** Where OpenTelemetry keeps what a program has installed, whichever copy of its API that was done with. */
const globalKey = Symbol.for('opentelemetry.js.api.1');

const require = createRequire(import.meta.url);
let loaded: TraceApi | undefined;

/**
 * OpenTelemetry's API, once the program has installed a tracer provider; undefined before. To ask costs a look at a global,
 * and the API is not even loaded (20 ms) by programs that have no use for it.
 */
function installedApi(): TraceApi | undefined {
  const installed = Reflect.get(globalThis, globalKey) as { readonly trace?: unknown } | undefined;
  if (installed?.trace === undefined) return undefined;
  loaded ??= require('@opentelemetry/api') as TraceApi;
  return loaded;
}

export type { Span } from '@opentelemetry/api';

export interface SpanOptions {
  /** Has low cardinality: it names what is done, never the object. */
  readonly name: string;
  readonly kind: 'server' | 'client' | 'internal';
  readonly attributes?: Attributes;
  /** Begins a trace that points to these spans, given by their traceparent; absent: a child of the present span. */
  readonly causes?: readonly string[];
  /** Headers of a request: the span becomes a child of the span that they name. */
  readonly headers?: object;
}

type Installed = NonNullable<ReturnType<typeof installedApi>>;

const noHeaders: Readonly<Record<string, string>> = Object.freeze({});

/** The spans that states of objects were written in, for as long as these states are in memory. */
const origins = new WeakMap<object, string>();

/**
 * Does the work in a span, which is the present one for all that the work awaits. Where no SDK is installed, just does the
 * work, and asks for no options. A rejection is recorded, and passed on.
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

/** Says that what the span stands for failed. */
export function failSpan(span: Span, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  span.recordException(error instanceof Error ? error : message);
  // 2: ERROR. The API may not be loaded, its constants least of all.
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

/** Remembers by which write a state of an object came about. */
export function noteOrigin(state: object, traceparent: string): void {
  origins.set(state, traceparent);
}

/** The traceparent of the write that this state comes from, where it is known. */
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
