import { piecesOf, refusalError, requestServer } from './request-server.ts';
import type { ServerAddress } from './request-server.ts';

/** `GET /export` of a server. Rejects with what the server says where it refuses, and when the answer is cut off. */
export async function* readServerExport(
  address: ServerAddress,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const response = await requestServer(address, '/export', { signal });
  const { url, status } = response;
  if (status !== 200) throw await refusalError(url, response);
  try {
    for await (const piece of piecesOf(response)) yield piece;
  } catch (cause) {
    signal.throwIfAborted();
    throw new Error(`${url}: the answer was cut off`, { cause });
  }
}
