import { request as requestHttp } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { Readable } from 'node:stream';

/** The CA certificates, the client certificate and the client key of a TLS connection, in PEM. */
interface Identity {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

interface RepeatingInit extends Pick<RequestInit, 'method' | 'signal'> {
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
}

/**
 * Returns a function like fetch that sends an `Impersonate-Group` header line for each group. fetch itself joins the
 * values in one line, which the server would read as the name of one group.
 */
export function repeatingFetch(
  { ca, cert, key }: Identity,
  groups: readonly string[],
): (url: string, init: RepeatingInit) => Promise<Response> {
  return async (url, { method = 'GET', signal, headers, body }) => {
    const send = url.startsWith('https:') ? requestHttps : requestHttp;
    const options = {
      method,
      headers: { ...headers, 'impersonate-group': [...groups] },
      ...(signal === undefined || signal === null ? {} : { signal }),
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    };
    const message = await new Promise<IncomingMessage>((resolve, reject) => {
      send(url, options, resolve).once('error', reject).end(body);
    });
    const status = message.statusCode ?? 0;
    const received = Object.entries(message.headersDistinct).flatMap(([name, values = []]) =>
      values.map((value): [string, string] => [name, value]),
    );
    const hasBody = status !== 204 && status !== 304;
    return new Response(hasBody ? Readable.toWeb(message) : null, { status, headers: received });
  };
}
