import { piecesOf, refusalError, requestServer } from './request-server.ts';
import type { ServerAddress } from './request-server.ts';

/** A path at which a server returns a copy of its database, and the media type of the copy. */
export interface CopySource {
  readonly path: string;
  readonly mediaType: string;
}

export const exportSource: CopySource = { path: '/export', mediaType: 'application/x-ndjson' };
export const decryptedExportSource: CopySource = { ...exportSource, path: '/export/decrypted' };
export const backupSource: CopySource = { path: '/backup', mediaType: 'application/vnd.sqlite3' };

/**
 * Requests an export or a backup of the database from a server, and yields its bytes in chunks. Rejects with the
 * server's message when the server refuses. Also rejects when the response is cut off.
 */
export async function* readCopy(
  address: ServerAddress,
  { path, mediaType }: CopySource,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const response = await requestServer(address, path, { signal });
  const { url, status, headers } = response;
  if (status !== 200) throw await refusalError(url, response);
  if (headers.get('content-type') !== mediaType)
    throw new Error(
      `${url} is not a Homeostat server: it returned ${headers.get('content-type') ?? 'no content type'}`,
    );
  try {
    for await (const piece of piecesOf(response)) yield piece;
  } catch (cause) {
    signal.throwIfAborted();
    throw new Error(`${url}: the response was cut off`, { cause });
  }
}
