/** An answer that is no export says why in a few lines; a proxy's page need not. */
const maxRefusalBytes = 64 * 1024;

export interface ServerAddress {
  readonly server: string;
  readonly token: string | undefined;
}

/** `GET /export` of a server. Rejects with what the server says where it refuses, and when the answer is cut off. */
export async function* readServerExport(
  { server, token }: ServerAddress,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const url = `${new URL(server).href.replace(/\/+$/, '')}/export`;
  const response = await fetch(url, {
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    // Followed, a redirection might take the token elsewhere.
    redirect: 'manual',
    signal,
  });
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}: ${await refusalOf(response)}`);
  try {
    for await (const piece of piecesOf(response)) yield piece;
  } catch (cause) {
    signal.throwIfAborted();
    throw new Error(`${url}: the answer was cut off`, { cause });
  }
}

/** The message of a Status, or the beginning of what else there is. */
export async function refusalOf(response: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of piecesOf(response)) {
    pieces.push(piece);
    size += piece.byteLength;
    if (size > maxRefusalBytes) break;
  }
  const text = Buffer.concat(pieces).toString('utf8');
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    return typeof message === 'string' ? message : response.statusText;
  } catch {
    return response.statusText;
  }
}

function piecesOf({ body }: Response): AsyncIterable<Uint8Array> {
  return (body ?? new ReadableStream()) as AsyncIterable<Uint8Array>;
}
