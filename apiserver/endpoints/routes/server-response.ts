import { validateHeaderName, validateHeaderValue } from 'node:http';

/** Pieces of an answer, made as fast as the client reads them. */
export type Pieces<T> = AsyncIterable<T> | Iterable<T> | ReadableStream<T>;

/** One server-sent event. */
export interface ServerEvent {
  readonly event?: string;
  readonly id?: string;
  /** A text as it is, anything else as JSON. */
  readonly data: unknown;
  /** Milliseconds until a browser connects again. */
  readonly retry?: number;
}

/** What stands behind the head of an answer. */
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

// Plugins may bring a second copy of this package, so instanceof does not tell; a symbol of the global registry does.
const responseSymbol: symbol = Symbol.for('homeostat.serverResponse');

/** The server writes these itself: a wrong one would make the next answer part of this one. */
const framing = new Set(['connection', 'content-length', 'keep-alive', 'trailer', 'transfer-encoding', 'upgrade']);

const empty: ResponseBody = Object.freeze({ kind: 'none' });
const noHeaders: ResponseParts['headers'] = Object.freeze({});

/** An answer. Immutable (frozen): each method answers another one. Made by its static methods. */
export class ServerResponse {
  readonly statusCode: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: ResponseBody;

  private constructor({ statusCode, headers, body }: ResponseParts) {
    this.statusCode = statusCode;
    this.headers = headers;
    this.body = body;
    Object.freeze(this);
  }

  /** An answer without a body. @throws RangeError unless it is a whole number from 200 to 599. */
  static status(code: number): ServerResponse {
    return new ServerResponse({ statusCode: checkStatus(code), headers: noHeaders, body: empty });
  }

  /** 200. */
  static ok(): ServerResponse {
    return ServerResponse.status(200);
  }

  /** 201, with the address of what was created. */
  static created(location: string): ServerResponse {
    return ServerResponse.status(201).header('location', location);
  }

  /** 202. */
  static accepted(): ServerResponse {
    return ServerResponse.status(202);
  }

  /** 204. */
  static noContent(): ServerResponse {
    return ServerResponse.status(204);
  }

  /** 404 without a body; an ApiError NotFound that is thrown has one. */
  static notFound(): ServerResponse {
    return ServerResponse.status(404);
  }

  /** The same answer with another status. */
  status(code: number): ServerResponse {
    return this.#with({ statusCode: checkStatus(code) });
  }

  /**
   * The same answer with this header, in place of one of that name; a list is sent as several.
   * @throws TypeError for a name or value that HTTP does not allow, and for headers that frame the message.
   */
  header(name: string, value: string | readonly string[]): ServerResponse {
    const values = typeof value === 'string' ? value : Object.freeze([...value]);
    return this.#with({ headers: Object.freeze({ ...this.headers, [checkHeader(name, values)]: values }) });
  }

  /** A JSON body. */
  json(value: unknown): ServerResponse {
    return this.#withBody({ kind: 'json', value }, 'application/json');
  }

  /** A body of UTF-8 text. Type: `text/plain`, unless a header said another. */
  text(text: string): ServerResponse {
    return this.#withBody({ kind: 'text', text }, 'text/plain; charset=utf-8');
  }

  /** Type: `application/octet-stream`, unless a header said another. */
  bytes(bytes: Uint8Array): ServerResponse {
    return this.#withBody({ kind: 'bytes', bytes: Uint8Array.from(bytes) }, 'application/octet-stream');
  }

  /**
   * A body that is made while it is sent: the next piece is asked for once the client has taken the one before. When the
   * client hangs up, `return()` of the iterator (`cancel()` of a ReadableStream) is called. `type` is its Content-Type, unless a header said another.
   */
  stream(pieces: Pieces<Uint8Array | string>, type = 'application/octet-stream'): ServerResponse {
    return this.#withBody({ kind: 'stream', pieces }, type);
  }

  /** One JSON value a line, as `stream`. */
  ndjson(values: Pieces<unknown>): ServerResponse {
    return this.#withBody({ kind: 'ndjson', pieces: values }, 'application/x-ndjson');
  }

  /** Server-sent events, as `stream`. */
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

/** True for answers of any copy of this package. */
export function isServerResponse(value: unknown): value is ServerResponse {
  return typeof value === 'object' && value !== null && Reflect.get(value, responseSymbol) === true;
}

/** Headers that the server writes itself. */
export function isFraming(name: string): boolean {
  return framing.has(name);
}

function checkStatus(code: number): number {
  if (Number.isInteger(code) && code >= 200 && code <= 599) return code;
  throw new RangeError(`the status of an answer must be a whole number from 200 to 599, not ${String(code)}`);
}

function checkHeader(name: string, value: string | readonly string[]): string {
  validateHeaderName(name);
  for (const each of typeof value === 'string' ? [value] : value) validateHeaderValue(name, each);
  const lower = name.toLowerCase();
  if (isFraming(lower)) throw new TypeError(`the header ${lower} is the server's own`);
  return lower;
}
