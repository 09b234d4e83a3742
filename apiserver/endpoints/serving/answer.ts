import type { ServerResponse as Outgoing } from 'node:http';
import { encodeJson } from './encode-json.ts';
import type { StoredBytes } from './encode-json.ts';
import { eventFrame } from './event-frame.ts';
import { isFraming, isServerResponse } from '../routes/server-response.ts';
import type { Pieces, ResponseBody, ServerEvent } from '../routes/server-response.ts';

type HeaderValue = string | readonly string[];

/** The pieces of a response, and the function that encodes each of them. */
export interface PieceSource {
  readonly pieces: Pieces<unknown>;
  readonly encode: (piece: unknown) => Uint8Array | string;
  /**
   * True: a stream that is stopped ends like a complete response. False: the connection of a stopped stream is closed,
   * so that the client does not mistake a part for the whole response.
   */
  readonly mayEndEarly: boolean;
}

/** A response whose body is already encoded, except a body in pieces, which are encoded while they are sent. */
export interface Answer {
  readonly statusCode: number;
  readonly headers: readonly (readonly [name: string, value: HeaderValue])[];
  readonly body: string | Uint8Array | PieceSource | undefined;
}

const bodiless: ReadonlySet<number> = new Set([204, 205, 304]);

/** Encodes a handler's response. @throws TypeError when the value is not a response, or cannot be written as JSON. */
export function prepareAnswer(response: unknown, storedBytes: StoredBytes): Answer {
  if (isServerResponse(response)) {
    const { statusCode, headers, body } = response;
    return { statusCode, headers: Object.entries(headers), body: prepareBody(body, storedBytes) };
  }
  if (response instanceof Response) return prepareResponse(response);
  throw new TypeError('a handler must return a ServerResponse or a standard Response');
}

function prepareBody(body: ResponseBody, storedBytes: StoredBytes): Answer['body'] {
  switch (body.kind) {
    case 'none':
      return undefined;
    case 'text':
      return body.text;
    case 'bytes':
      return body.bytes;
    case 'json':
      return encodeJson(body.value, storedBytes);
    case 'stream':
      return { pieces: body.pieces, encode: rawPiece, mayEndEarly: false };
    case 'ndjson':
      return { pieces: body.pieces, encode: (value) => jsonLine(value, storedBytes), mayEndEarly: false };
    case 'sse':
      return { pieces: body.pieces, encode: (event) => eventFrame(event as ServerEvent), mayEndEarly: true };
  }
}

function prepareResponse(response: Response): Answer {
  const { status, headers, body } = response;
  if (status < 200) throw new TypeError('the handler returned Response.error()');
  const cookies = headers.getSetCookie();
  const others = [...headers].filter(([name]) => !isFraming(name) && name !== 'set-cookie');
  return {
    statusCode: status,
    headers: cookies.length === 0 ? others : [...others, ['set-cookie', cookies]],
    body: body === null ? undefined : { pieces: body, encode: rawPiece, mayEndEarly: false },
  };
}

function rawPiece(piece: unknown): Uint8Array | string {
  if (typeof piece === 'string' || piece instanceof Uint8Array) return piece;
  throw new TypeError('the pieces of a stream must be bytes or texts');
}

function jsonLine(value: unknown, storedBytes: StoredBytes): Uint8Array | string {
  const json = encodeJson(value, storedBytes);
  return typeof json === 'string' ? `${json}\n` : Buffer.concat([json, newline]);
}

const newline = Buffer.from('\n');

/** Sets the status and the headers, except the Content-Length of a complete body. */
export function setHead(outgoing: Outgoing, { statusCode, headers }: Answer): void {
  outgoing.statusCode = statusCode;
  // As in responses with objects, caches must check for changes, and must not share the response of one client with
  // others.
  outgoing.setHeader('Cache-Control', 'no-cache, private');
  for (const [name, value] of headers) outgoing.setHeader(name, value);
}

/** True when the response may have a body. */
export function takesBody(outgoing: Outgoing): boolean {
  return outgoing.req.method !== 'HEAD' && !isBodiless(outgoing.statusCode);
}

/** True for 204, 205 and 304, which have no body. */
export function isBodiless(statusCode: number): boolean {
  return bodiless.has(statusCode);
}

export function isPieces(body: Answer['body']): body is PieceSource {
  return typeof body === 'object' && !(body instanceof Uint8Array);
}
