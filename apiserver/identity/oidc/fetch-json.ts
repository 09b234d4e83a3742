import { request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import type { Clock } from '@homeostat/controller-runtime/api';

/** Documents of issuers have some kilobytes. */
const maxBytes = 512 * 1024;

const timeLimitMs = 5_000;

export interface FetchOptions {
  readonly clock: Clock;
  /** PEM; undefined: the authorities that the system trusts. */
  readonly ca: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * Fetches a JSON document by HTTPS. Rejects for any status but 200, so redirects are not followed; for more than 512 KiB; and
 * after 5 s.
 */
export async function fetchJson(url: string, { clock, ca, signal }: FetchOptions): Promise<unknown> {
  const limit = new AbortController();
  const timer = clock.setTimeout(
    () => limit.abort(new Error(`${url}: no response within ${timeLimitMs} ms`)),
    timeLimitMs,
  );
  try {
    const options = { ca, signal: AbortSignal.any([limit.signal, signal]), headers: { accept: 'application/json' } };
    const text = await new Promise<string>((resolve, reject) => {
      const call = request(url, { ...options, agent: false }, (response) => {
        readText(url, response).then(resolve, reject);
      });
      call.on('error', reject);
      call.end();
    });
    return JSON.parse(text);
  } catch (error) {
    throw limit.signal.aborted ? limit.signal.reason : error;
  } finally {
    clock.clearTimeout(timer);
  }
}

async function readText(url: string, response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    if (response.statusCode !== 200) throw new Error(`${url}: status ${response.statusCode ?? 0}, not 200`);
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) throw new Error(`${url}: more than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
  } finally {
    response.destroy();
  }
  return Buffer.concat(chunks).toString();
}
