import { repeatingFetch } from './repeating-fetch.ts';
import { trustingFetch } from '@homeostat/controller-runtime';
import { ApiError, isJsonObject } from '@homeostat/controller-runtime/api';

/**
 * The maximum number of bytes that are read of an error response. A Status has a few lines, but an error page of a
 * proxy may be long.
 */
const maxRefusalBytes = 64 * 1024;

export interface ServerAddress {
  readonly server: string;
  readonly token?: string;
  /** The CA certificates that the client trusts for the server, in PEM. */
  readonly ca?: string;
  /** The client certificate, in PEM. */
  readonly cert?: string;
  /** The private key of the client certificate, in PEM. */
  readonly key?: string;
}

/** The user that a request impersonates. The user of the credential needs the permission to impersonate this user. */
export interface RunAs {
  readonly user: string;
  readonly groups: readonly string[];
}

/** The parts of a request except its path. */
export interface ServerRequest extends Pick<RequestInit, 'method' | 'signal'> {
  readonly headers?: Readonly<Record<string, string>>;
  readonly runAs?: RunAs | undefined;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** The bytes of the body, sent unchanged instead of `json`. */
  readonly bytes?: Uint8Array<ArrayBuffer>;
  /** The content type of the body. Default: `application/json`. */
  readonly contentType?: string;
}

/**
 * Sends a request with the server's token. Rejects when the connection fails, like fetch; an error status of the server
 * is a normal response.
 */
export function requestServer(address: ServerAddress, path: string, init: ServerRequest): Promise<Response> {
  const { server, token, ca, cert, key } = address;
  const { json, bytes, contentType = 'application/json', headers, runAs, ...rest } = init;
  const hasContent = json !== undefined || bytes !== undefined;
  const trusting = ca === undefined && cert === undefined ? fetch : trustingFetch({ ca, cert, key });
  const { user, groups = [] } = runAs ?? {};
  const [group] = groups;
  const send = groups.length > 1 ? repeatingFetch(address, groups) : trusting;
  return send(`${new URL(server).href.replace(/\/+$/, '')}${path}`, {
    ...rest,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(hasContent ? { 'content-type': contentType } : {}),
      ...(user === undefined ? {} : { 'impersonate-user': user }),
      ...(group === undefined ? {} : { 'impersonate-group': group }),
      ...headers,
    },
    ...(hasContent ? { body: bytes ?? JSON.stringify(json) } : {}),
    // Redirects are not followed, because they could send the token to another server.
    redirect: 'manual',
  });
}

/**
 * Returns an Error for a refused request. `what` is the name of the request. The error's message begins with this name,
 * and ends with the server's message.
 */
export async function refusalError(what: string, response: Response): Promise<Error> {
  const message = `${what} returned ${response.status}: ${await refusalOf(response)}`;
  return response.status === 401 ? new ApiError('Unauthorized', message) : new Error(message);
}

/** Returns the message of a Status. For any other body, returns the text of the HTTP status, such as `Bad Gateway`. */
async function refusalOf(response: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of piecesOf(response)) {
    pieces.push(piece);
    size += piece.byteLength;
    if (size > maxRefusalBytes) break;
  }
  const text = Buffer.concat(pieces).toString('utf8');
  try {
    const answer: unknown = JSON.parse(text);
    return isJsonObject(answer) && typeof answer['message'] === 'string' ? answer['message'] : response.statusText;
  } catch {
    return response.statusText;
  }
}

/** Returns the chunks of a response body as they arrive. */
export function piecesOf({ body }: Response): AsyncIterable<Uint8Array> | readonly Uint8Array[] {
  return (body as AsyncIterable<Uint8Array> | null) ?? [];
}
