import { createRequire } from 'node:module';
import type * as Api from '@opentelemetry/api';

type TraceApi = typeof Api;

/** Where OpenTelemetry keeps what a program has installed, whichever copy of its API that was done with. */
const globalKey = Symbol.for('opentelemetry.js.api.1');

const require = createRequire(import.meta.url);
let loaded: TraceApi | undefined;

/**
 * OpenTelemetry's API, once the program has installed a tracer provider; undefined before. To ask costs a look at a global,
 * and the API is not even loaded (20 ms) by programs that have no use for it.
 */
export function installedApi(): TraceApi | undefined {
  const installed = Reflect.get(globalThis, globalKey) as { readonly trace?: unknown } | undefined;
  if (installed?.trace === undefined) return undefined;
  loaded ??= require('@opentelemetry/api') as TraceApi;
  return loaded;
}
