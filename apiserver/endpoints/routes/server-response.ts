import { validateHeaderName, validateHeaderValue } from 'node:http';

/** Pieces of a response, produced as fast as the client reads them. */
export type Pieces<T> = AsyncIterable<T> | Iterable<T> | ReadableStream<T>;

/** One server-sent event. */
export interface ServerEvent {
  readonly event?: string;
  readonly id?: string;
  /** The data of the event: a string is sent unchanged, any other value as JSON. */
  readonly data: unknown;
  /** The milliseconds after which a browser reconnects when the connection is lost. */
  readonly retry?: number;
}

/** The body of a response. */
export type ResponseBody =
  | { readonly kind: 'none' }
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'stream'; readonly pieces: Pieces<Uint8Array | string> }
  | { readonly kind: 'ndjson'; readonly pieces: Pieces<unknown> }
  | { readonly kind: 'sse'; readonly pieces: Pieces<ServerEvent> };

interface ResponseParts {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: ResponseBody;
}

// A plugin may load a second copy of this package, so instanceof does not work. A symbol in the global registry works.
const responseSymbol: symbol = Symbol.for('homeostat.serverResponse');

/**
 * Headers that only the server may set. With a wrong value, a client would read the next response as a part of this
 * one.
 */
const framing = new Set(['connection', 'content-length', 'keep-alive', 'trailer', 'transfer-encoding', 'upgrade']);

const empty: ResponseBody = Object.freeze({ kind: 'none' });
const noHeaders: ResponseParts['headers'] = Object.freeze({});

/**
 * A response. It is immutable (frozen): each method returns another response. The static methods create the first one.
 */
export class ServerResponse {
  readonly statusCode: number;
  /** The headers by lower-case name. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: ResponseBody;

  private constructor({ statusCode, headers, body }: ResponseParts) {
    this.statusCode = statusCode;
    this.headers = headers;
    this.body = body;
    Object.freeze(this);
  }

  /** Returns a response without a body. @throws RangeError for a code that is not a whole number from 200 to 599. */
  static status(code: number): ServerResponse {
    return new ServerResponse({ statusCode: checkStatus(code), headers: noHeaders, body: empty });
  }

  /** Returns a response with status 200. */
  static ok(): ServerResponse {
    return ServerResponse.status(200);
  }

  /** Returns a response with status 201 and the address of the created resource. */
  static created(location: string): ServerResponse {
    return ServerResponse.status(201).header('location', location);
  }

  /** Returns a response with status 202. */
  static accepted(): ServerResponse {
    return ServerResponse.status(202);
  }

  /** Returns a response with status 204. */
  static noContent(): ServerResponse {
    return ServerResponse.status(204);
  }

  /** Returns a response with status 404 and no body. For a 404 with a body, throw an ApiError NotFound. */
  static notFound(): ServerResponse {
    return ServerResponse.status(404);
  }

  /** Returns the response with another status. */
  status(code: number): ServerResponse {
    return this.#with({ statusCode: checkStatus(code) });
  }

  /**
   * Returns the response with this header, which replaces an earlier header of the same name. A list is sent as several
   * headers.
   * @throws TypeError for a name or value that HTTP does not allow, and for headers that frame the message.
   */
  header(name: string, value: string | readonly string[]): ServerResponse {
    const values = typeof value === 'string' ? value : Object.freeze([...value]);
    return this.#with({ headers: Object.freeze({ ...this.headers, [checkHeader(name, values)]: values }) });
  }

  /** Returns the response with a JSON body. */
  json(value: unknown): ServerResponse {
    return this.#withBody({ kind: 'json', value }, 'application/json');
  }

  /**
   * Returns the response with a body of UTF-8 text. Its type is `text/plain`, unless the response has a Content-Type.
   */
  text(text: string): ServerResponse {
    return this.#withBody({ kind: 'text', text }, 'text/plain; charset=utf-8');
  }

  /**
   * Returns the response with a binary body. Its type is `application/octet-stream`, unless the response has a
   * Content-Type.
   */
  bytes(bytes: Uint8Array): ServerResponse {
    return this.#withBody({ kind: 'bytes', bytes: Uint8Array.from(bytes) }, 'application/octet-stream');
  }

  /**
   * Returns the response with a body that is produced while it is sent: the next piece is requested once the connection
   * has accepted the previous one. When the client disconnects, `return()` of the iterator (`cancel()` of a
   * ReadableStream) is called. `type` is the Content-Type, unless the response already has one.
   */
  stream(pieces: Pieces<Uint8Array | string>, type = 'application/octet-stream'): ServerResponse {
    return this.#withBody({ kind: 'stream', pieces }, type);
  }

  /** Returns the response with a streamed body of one JSON value per line; see `stream`. */
  ndjson(values: Pieces<unknown>): ServerResponse {
    return this.#withBody({ kind: 'ndjson', pieces: values }, 'application/x-ndjson');
  }

  /** Returns the response with a streamed body of server-sent events; see `stream`. */
  sse(events: Pieces<ServerEvent>): ServerResponse {
    return this.#withBody({ kind: 'sse', pieces: events }, 'text/event-stream');
  }

  #with(parts: Partial<ResponseParts>): ServerResponse {
    const { statusCode, headers, body } = this;
    return new ServerResponse({ statusCode, headers, body, ...parts });
  }

  #withBody(body: ResponseBody, type: string): ServerResponse {
    const headers = 'content-type' in this.headers ? this.headers : { ...this.headers, 'content-type': type };
    return this.#with({ headers: Object.freeze(headers), body: Object.freeze(body) });
  }
}

Object.defineProperty(ServerResponse.prototype, responseSymbol, { value: true });
Object.freeze(ServerResponse.prototype);

/** True for responses that any copy of this package created. */
export function isServerResponse(value: unknown): value is ServerResponse {
  return typeof value === 'object' && value !== null && Reflect.get(value, responseSymbol) === true;
}

/** True for headers that only the server may set. */
export function isFraming(name: string): boolean {
  return framing.has(name);
}

function checkStatus(code: number): number {
  if (Number.isInteger(code) && code >= 200 && code <= 599) return code;
  throw new RangeError(`the status of a response must be a whole number from 200 to 599, not ${String(code)}`);
}

function checkHeader(name: string, value: string | readonly string[]): string {
  validateHeaderName(name);
  for (const each of typeof value === 'string' ? [value] : value) validateHeaderValue(name, each);
  const lower = name.toLowerCase();
  if (isFraming(lower)) throw new TypeError(`a response must not set the header ${lower}: only the server may set it`);
  return lower;
}
