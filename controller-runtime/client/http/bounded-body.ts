import { ApiError } from '../../api/index.ts';

/**
 * Yields the bytes of a response body as they arrive; yields nothing when there is no body. When the caller leaves the
 * loop, the connection is closed.
 */
export function bodyOf(response: Response): AsyncIterable<Uint8Array> {
  // The DOM's types do not declare streams as iterable, but the streams of Node.js are iterable. The streams of a
  // `fetch` that the caller passes must be iterable, too.
  return (response.body ?? noBytes()) as AsyncIterable<Uint8Array>;
}

/**
 * Reads a body to its end, as UTF-8. Rejects with InternalError as soon as the body is longer than `maxBytes`; the rest
 * is not read.
 */
export async function readText(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of bodyOf(response)) {
    length += chunk.byteLength;
    if (length > maxBytes) throw new ApiError('InternalError', `the response is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length).toString('utf8');
}

async function* noBytes(): AsyncGenerator<Uint8Array> {}
