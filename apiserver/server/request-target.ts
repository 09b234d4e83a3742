import type { IncomingMessage } from 'node:http';

const slash = 0x2f;

/**
 * Brings the target of a request into the form `/path?query`, and moves the host of an absolute target (`GET
 * http://host/path`, as to a proxy) into its Host header (RFC 9112, 3.2.2). A target that is no URL leaves an empty
 * Host, which is refused.
 */
export function toOriginForm(request: IncomingMessage): void {
  const { url = '' } = request;
  if (url.charCodeAt(0) === slash || url === '*') return;
  const { host, path } = parseAbsolute(url);
  request.url = path;
  request.headers.host = host;
}

const unusable = { host: '', path: '/' } as const;

function parseAbsolute(text: string): { readonly host: string; readonly path: string } {
  const [, host, path = ''] = /^https?:\/\/([^/?#@\\]+)([/?].*)?$/i.exec(text) ?? [];
  if (host === undefined || !URL.canParse(text)) return unusable;
  return { host, path: path.startsWith('/') ? path : `/${path}` };
}
