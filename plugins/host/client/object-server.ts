import { isJsonObject } from '@homeostat/controller-runtime/api';
import type { JsonObject } from '@homeostat/controller-runtime/api';
import { piecesOf, requestServer } from '../remote/request-server.ts';
import type { RunAs, ServerAddress } from '../remote/request-server.ts';

/** An error response of the server, with the message that kubectl would print. */
export class ServerRefusal extends Error {
  override readonly name = 'ServerRefusal';
  /** The HTTP status code. */
  readonly code: number;
  /** The Status that the server sent; empty if it sent something else. */
  readonly status: JsonObject;

  constructor(code: number, status: JsonObject) {
    const { reason, message } = status;
    const named = typeof reason === 'string' && reason !== '' ? ` (${reason})` : '';
    super(`Error from server${named}: ${typeof message === 'string' ? message : `HTTP status ${code}`}`);
    this.code = code;
    this.status = status;
  }
}

/** Parameters of a query; undefined ones are left out. */
export type Query = Readonly<Record<string, string | undefined>>;

export interface ObjectRequest {
  readonly query?: Query;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body, which is sent as JSON. */
  readonly body?: unknown;
  /** The content type of the body. Default: `application/json`. */
  readonly contentType?: string;
  /** Aborts the request. Default: the signal of the command. */
  readonly signal?: AbortSignal;
}

export interface WatchLine {
  readonly type: string;
  readonly object: JsonObject;
}

export interface ObjectServerParts {
  /** Receives the warnings of responses. */
  readonly warn: (text: string) => void;
  /** The user as whom the requests run; when absent, the user of the credential. */
  readonly runAs?: RunAs | undefined;
}

/** Requests objects of any kind from a server. */
export class ObjectServer {
  readonly signal: AbortSignal;
  readonly #address: ServerAddress;
  readonly #parts: ObjectServerParts;

  constructor(address: ServerAddress, signal: AbortSignal, parts: ObjectServerParts) {
    this.#address = address;
    this.signal = signal;
    this.#parts = parts;
  }

  /** Resolves with the JSON object that the server sends. Rejects with ServerRefusal for an error response. */
  async send(method: string, path: string, request: ObjectRequest = {}): Promise<JsonObject> {
    return (await this.answer(method, path, request)).body;
  }

  /** Resolves with the JSON object and the HTTP status code. Rejects with ServerRefusal for an error response. */
  async answer(
    method: string,
    path: string,
    request: ObjectRequest = {},
  ): Promise<{ readonly code: number; readonly body: JsonObject }> {
    const response = await this.#request(method, path, request);
    const body: unknown = await response.json();
    if (!isJsonObject(body)) throw new Error(`${method} ${path}: the server did not send a JSON object`);
    return { code: response.status, body };
  }

  /** Yields a list page by page, so that the memory never has the whole list. */
  async *pages(path: string, { query, ...rest }: ObjectRequest = {}): AsyncGenerator<JsonObject> {
    let next: string | undefined;
    do {
      const page = await this.send('GET', path, { ...rest, query: { limit: '500', ...query, continue: next } });
      yield page;
      const { metadata } = page;
      const token = isJsonObject(metadata) ? metadata['continue'] : undefined;
      next = typeof token === 'string' && token !== '' ? token : undefined;
    } while (next !== undefined);
  }

  /** Yields the events of a watch until the server or the signal ends it. */
  async *watch(path: string, { query, ...rest }: ObjectRequest): AsyncGenerator<WatchLine> {
    const response = await this.#request('GET', path, { ...rest, query: { ...query, watch: '1' } });
    const decoder = new TextDecoder();
    let text = '';
    for await (const piece of piecesOf(response)) {
      text += decoder.decode(piece, { stream: true });
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) if (line !== '') yield watchLine(line);
    }
  }

  async #request(
    method: string,
    path: string,
    { query = {}, headers = {}, body, contentType = 'application/json', signal = this.signal }: ObjectRequest,
  ): Promise<Response> {
    const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined);
    const search = given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
    const content = body === undefined ? {} : { json: body, contentType };
    const response = await requestServer(this.#address, `${path}${search}`, {
      method,
      signal,
      headers,
      runAs: this.#parts.runAs,
      ...content,
    });
    for (const text of warningsOf(response)) this.#parts.warn(text);
    if (response.ok) return response;
    const status: unknown = await response.json().catch(() => ({}));
    throw new ServerRefusal(response.status, isJsonObject(status) ? status : {});
  }
}

function watchLine(line: string): WatchLine {
  const event: unknown = JSON.parse(line);
  const object = isJsonObject(event) ? event['object'] : undefined;
  if (!isJsonObject(event) || !isJsonObject(object))
    throw new Error('the server sent a line that is not a watch event');
  if (event['type'] === 'ERROR') throw new ServerRefusal(Number(object['code']), object);
  return { type: String(event['type']), object };
}

/** Returns the texts of `Warning: 299 - "…"` headers. */
function warningsOf(response: Response): readonly string[] {
  const header = response.headers.get('warning') ?? '';
  return [...header.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) => text.replaceAll(/\\(.)/g, '$1'));
}
