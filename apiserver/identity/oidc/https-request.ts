import { request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import type { Clock } from '@homeostat/controller-runtime/api';

/** The maximum number of bytes of a response. Responses of issuers usually have some kilobytes. */
const maxBytes = 512 * 1024;

const timeLimitMs = 5_000;

export interface HttpsParts {
  readonly clock: Clock;
  /** The trusted certificate authorities, as PEM; undefined for those that the system trusts. */
  readonly ca: string | undefined;
  readonly signal?: AbortSignal;
}

/** The method, headers and body of a request. By default, the request is a GET without a body. */
export interface HttpsMessage {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface HttpsResponse {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

/** Sends a request by HTTPS. Redirects are not followed. Rejects for a response of more than 512 KiB, and after 5 s. */
export async function sendHttps(
  url: string,
  { clock, ca, signal }: HttpsParts,
  { method = 'GET', headers = {}, body }: HttpsMessage = {},
): Promise<HttpsResponse> {
  const limit = new AbortController();
  const timer = clock.setTimeout(
    () => limit.abort(new Error(`${url}: no response within ${timeLimitMs} ms`)),
    timeLimitMs,
  );
  try {
    const ends = signal === undefined ? limit.signal : AbortSignal.any([limit.signal, signal]);
    const options = { method, headers, ca, signal: ends, agent: false } as const;
    return await new Promise<HttpsResponse>((resolve, reject) => {
      const call = request(url, options, (response) => {
        readResponse(url, response).then(resolve, reject);
      });
      call.on('error', reject);
      call.end(body);
    });
  } catch (error) {
    throw limit.signal.aborted ? limit.signal.reason : error;
  } finally {
    clock.clearTimeout(timer);
  }
}

/** Fetches a JSON document. Rejects when {@link sendHttps} rejects, the status is not 200, or the JSON is invalid. */
export async function fetchJson(url: string, parts: HttpsParts): Promise<unknown> {
  const { status, text } = await sendHttps(url, parts, { headers: { accept: 'application/json' } });
  if (status !== 200) throw new Error(`${url}: status ${status}, not 200`);
  return JSON.parse(text);
}

async function readResponse(url: string, response: IncomingMessage): Promise<HttpsResponse> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) throw new Error(`${url}: more than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
  } finally {
    response.destroy();
  }
  const { statusCode: status = 0, headers } = response;
  return { status, type: headers['content-type'] ?? '', text: Buffer.concat(chunks).toString() };
}
