import { ApiError } from '@homeostat/controller-runtime/api';
import type { Context, Middleware } from 'koa';
import { isIPv6 } from 'node:net';

const loopbackNames = ['localhost', '127.0.0.1', '[::1]'];
const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Answers only to Host names it knows, and refuses writes that another site's page sends: a page in someone's browser
 * must not be able to write to 127.0.0.1, nor read from it by rebinding a name (403).
 */
export function originGuard(hostNames: readonly string[]): Middleware {
  const known = new Set([...loopbackNames, ...hostNames.map((name) => inHeader(name.toLowerCase()))]);
  return function guardOrigin(context, next): Promise<void> {
    checkHost(context, known);
    if (!safeMethods.has(context.method)) checkOrigin(context);
    return next();
  };
}

function checkHost(context: Context, known: ReadonlySet<string>): void {
  const name = hostNameOf(context.get('Host'));
  if (!known.has(name))
    throw new ApiError('Forbidden', 'the Host header names no host of this server; allow it with --host-name');
}

/** An address of IPv6 stands in brackets there (RFC 3986, 3.2.2). */
function inHeader(name: string): string {
  return isIPv6(name) ? `[${name}]` : name;
}

function hostNameOf(host: string): string {
  const end = host.startsWith('[') ? host.indexOf(']') + 1 : host.indexOf(':');
  return (end <= 0 ? host : host.slice(0, end)).toLowerCase();
}

function checkOrigin(context: Context): void {
  const origin = context.get('Origin');
  if (origin === '') return;
  const scheme = 'encrypted' in context.req.socket ? 'https' : 'http';
  if (origin.toLowerCase() !== `${scheme}://${context.get('Host').toLowerCase()}`) {
    throw new ApiError('Forbidden', 'writes from pages of another origin are refused');
  }
}
