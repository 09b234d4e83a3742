import type { Context, Middleware } from 'koa';
import type { TrustedProxies } from '../request/trusted-proxies.ts';

/** The media types of most responses. A browser that shows such a response runs no code. */
const inert = new Set([
  '',
  'application/json',
  'application/yaml',
  'application/problem+json',
  'application/x-ndjson',
  'text/event-stream',
]);

/**
 * The Content-Security-Policy of pages. A page may load only files of this server, besides images and fonts that are in
 * the page itself. It may neither run inline code nor contact another site, and no page may frame it.
 */
export const pagePolicy: string = [
  "default-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self' data:",
  "object-src 'none'",
  "base-uri 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * The value of Strict-Transport-Security: a year, in seconds. It does not include subdomains, which may be other
 * servers.
 */
const strictTransport = 'max-age=31536000';

/**
 * Matches a Host header with a loopback name. Responses for such a host get no Strict-Transport-Security: with it, a
 * browser would require TLS of every server on the machine, and some of them may have no TLS.
 */
const loopback = /^(localhost|127\.0\.0\.1|\[::1\])(:|$)/i;

/** Gives each page the headers that protect it, unless its route has set them. */
export function pageHeaders(proxies: TrustedProxies): Middleware {
  return async function protectPage(context, next) {
    await next();
    if (!inert.has(context.response.type)) protect(context, proxies);
  };
}

function protect(context: Context, proxies: TrustedProxies): void {
  setDefault(context, 'Content-Security-Policy', pagePolicy);
  setDefault(context, 'Referrer-Policy', 'same-origin');
  if (proxies.schemeOf(context) === 'https' && !loopback.test(context.get('Host')))
    context.set('Strict-Transport-Security', strictTransport);
}

function setDefault(context: Context, header: string, value: string): void {
  if (!context.res.hasHeader(header)) context.set(header, value);
}
