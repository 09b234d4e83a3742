import { repeatingFetch } from './repeating-fetch.ts';
import { trustingFetch } from '@homeostat/controller-runtime';
import { ApiError, isJsonObject } from '@homeostat/controller-runtime/api';

/**
 * The maximum number of bytes that are read of a response other than an export: a Status has a few lines, but a proxy's
 * page may be long.
 */
const maxRefusalBytes = 64 * 1024;

export interface ServerAddress {
  readonly server: string;
  readonly token?: string;
  /** PEM of the authorities that vouch for the server. */
  readonly ca?: string;
  /** PEM of the client's certificate. */
  readonly cert?: string;
  /** PEM of its private key. */
  readonly key?: string;
}

/** The user as whom a request runs. The user of the credential needs the permission to impersonate this one. */
export interface RunAs {
  readonly user: string;
  readonly groups: readonly string[];
}

/** The parts of a request besides its path. */
export interface ServerRequest extends Pick<RequestInit, 'method' | 'signal'> {
  readonly headers?: Readonly<Record<string, string>>;
  readonly runAs?: RunAs | undefined;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Bytes to send unchanged, instead of JSON. */
  readonly bytes?: Uint8Array<ArrayBuffer>;
  /** The content type of JSON or bytes. Default `application/json`. */
  readonly contentType?: string;
}

/** A request with the server's token. Rejects as fetch does; a refusal by the server is a response. */
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
    // A redirection could send the token to another server.
    redirect: 'manual',
  });
}

/** Returns the error for a refusal. `what` names the request, and the server's message is the reason. */
export async function refusalError(what: string, response: Response): Promise<Error> {
  const message = `${what} returned ${response.status}: ${await refusalOf(response)}`;
  return response.status === 401 ? new ApiError('Unauthorized', message) : new Error(message);
}

/** The message of a Status, or the start of any other body. */
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

/** The pieces of a body, as they arrive. */
export function piecesOf({ body }: Response): AsyncIterable<Uint8Array> | readonly Uint8Array[] {
  return (body as AsyncIterable<Uint8Array> | null) ?? [];
}
