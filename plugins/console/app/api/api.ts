import { ApiFailure, failureOf } from './failure.ts';

export type Query = Readonly<Record<string, string | readonly string[] | number | boolean | undefined>>;

export interface CallOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly query?: Query;
  /** The body of the request: a file is sent unchanged, any other value as JSON. */
  readonly body?: unknown;
  readonly contentType?: string;
  readonly accept?: string;
  readonly signal?: AbortSignal | undefined;
}

export interface Answer {
  readonly body: unknown;
  /** The texts of the `Warning` headers. */
  readonly warnings: readonly string[];
}

export interface ApiParts {
  /** The address of the server's root, with a slash at the end. */
  readonly base: string;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** Called for each 401: the session has ended. */
  readonly onUnauthorized?: () => void;
  /** Called for each 403: the user may have fewer rights than before. */
  readonly onForbidden?: () => void;
  /** Called after each request that was not aborted: with true if there was a response, otherwise with false. */
  readonly onReachable?: (isReachable: boolean) => void;
}

/** The media type of tables: rows with the cells that kubectl would print, and the metadata of the objects. */
export const tableType = 'application/json;as=Table;v=v1;g=meta.k8s.io';
/** The media type of lists whose objects have no spec and no status. */
export const metadataType = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';

/** Sends requests to the server that served the console, and to no other server. */
export class Api {
  readonly #parts: ApiParts;

  constructor(parts: ApiParts) {
    this.#parts = parts;
  }

  /** Returns the address of a path of the server, with these parameters. */
  url(path: string, query: Query = {}): string {
    const url = new URL(path.replace(/^\//, ''), this.#parts.base);
    for (const [key, value] of Object.entries(query)) {
      const values = typeof value === 'object' ? value : [value];
      for (const each of values) if (each !== undefined && each !== '') url.searchParams.append(key, String(each));
    }
    return url.href;
  }

  async get(path: string, query?: Query, signal?: AbortSignal): Promise<unknown> {
    return (await this.call(path, { ...(query === undefined ? {} : { query }), signal })).body;
  }

  /** Sends a request, and resolves with the parsed body of the response. @throws ApiFailure */
  async call(path: string, options: CallOptions = {}): Promise<Answer> {
    const response = await this.open(path, options);
    const text = await response.text();
    return { body: text === '' ? undefined : parse(text, response), warnings: warningsOf(response) };
  }

  /** Resolves with a response whose body has not been read. @throws ApiFailure */
  async open(path: string, options: CallOptions = {}): Promise<Response> {
    const response = await this.#fetch(path, options);
    this.#parts.onReachable?.(true);
    if (response.ok) return response;
    if (response.status === 401) this.#parts.onUnauthorized?.();
    if (response.status === 403) this.#parts.onForbidden?.();
    throw failureOf(response.status, tryParse(await response.text()));
  }

  async #fetch(path: string, options: CallOptions): Promise<Response> {
    const { method = 'GET', query, body, contentType = 'application/json', accept = 'application/json' } = options;
    const { signal } = options;
    try {
      return await this.#parts.fetch(this.url(path, query), {
        method,
        headers: { accept, ...(body === undefined ? {} : { 'content-type': contentType }) },
        credentials: 'same-origin',
        ...(body === undefined ? {} : { body: body instanceof Blob ? body : JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (error) {
      if (signal?.aborted === true) throw error;
      this.#parts.onReachable?.(false);
      throw new ApiFailure('the server cannot be reached', { status: 0, reason: 'Unreachable' });
    }
  }
}

function parse(text: string, response: Response): unknown {
  const isJson = (response.headers.get('content-type') ?? '').includes('json');
  return isJson ? tryParse(text) : text;
}

function tryParse(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}

/** Returns the texts in a `Warning` header, which has values such as `299 - "text"`, separated by commas. */
function warningsOf(response: Response): readonly string[] {
  const header = response.headers.get('warning') ?? '';
  return [...header.matchAll(/\d{3} \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) => text.replaceAll(/\\(.)/g, '$1'));
}
