import { isUtf8 } from 'node:buffer';
import { ApiError, isApiError } from '@homeostat/controller-runtime/api';
import type { JsonSchema } from '@homeostat/controller-runtime/api';
import { readContentType } from '../../decode/read-body.ts';
import { readLines } from './body-lines.ts';
import type { BodyLine } from './body-lines.ts';
import { bodyCheck } from './body-schema.ts';
import type { RequestSource } from './request-source.ts';
import type { RequestUser, ServerRequest } from '../routes/server-request.ts';
import { bareRecord } from '../../base/bare-record.ts';

type Variables = Readonly<Record<string, string>>;
type Attributes = Readonly<Record<string, unknown>>;

const nothing: Readonly<Record<string, never>> = Object.freeze(bareRecord<never>());

/** A request that came over HTTP, as a handler receives it. */
export class HttpRequest implements ServerRequest {
  readonly pathVariables: Variables;
  readonly attributes: Attributes;
  readonly #source: RequestSource;

  constructor(source: RequestSource, pathVariables: Variables = nothing, attributes: Attributes = nothing) {
    this.#source = source;
    this.pathVariables = pathVariables;
    this.attributes = attributes;
    Object.freeze(this);
  }

  get method(): string {
    return this.#source.incoming.method ?? '';
  }

  get path(): string {
    return this.#source.path;
  }

  get headers(): Readonly<Record<string, string>> {
    return this.#source.headers;
  }

  get user(): RequestUser {
    return this.#source.user;
  }

  get signal(): AbortSignal {
    return this.#source.signal;
  }

  get remoteAddress(): string | undefined {
    return this.#source.incoming.socket.remoteAddress;
  }

  get body(): AsyncIterable<Uint8Array> {
    return this.#source.stream();
  }

  header(name: string): string | undefined {
    return this.#source.header(name.toLowerCase());
  }

  query(name: string): string | undefined {
    return this.#source.query.get(name) ?? undefined;
  }

  queryAll(name: string): readonly string[] {
    return this.#source.query.getAll(name);
  }

  pathVariable(name: string): string {
    const value = Object.hasOwn(this.pathVariables, name) ? this.pathVariables[name] : undefined;
    if (value === undefined) throw new TypeError(`the path of this route has no variable "${name}"`);
    return value;
  }

  async json<T = unknown>(schema?: JsonSchema): Promise<T> {
    const type = readContentType(this.header('content-type'));
    // A missing Content-Type means JSON, as in requests for objects.
    if (type !== '' && type !== 'application/json' && !type.endsWith('+json')) throw notJson();
    return checked<T>(await this.#source.parse(await this.#source.bytes()), schema);
  }

  async text(): Promise<string> {
    readContentType(this.header('content-type'));
    const bytes = await this.#source.bytes();
    if (!isUtf8(bytes)) throw new ApiError('BadRequest', 'the body is not valid UTF-8');
    return bytes.toString('utf8');
  }

  async bytes(): Promise<Uint8Array> {
    return Uint8Array.from(await this.#source.bytes());
  }

  async *ndjson<T = unknown>(schema?: JsonSchema): AsyncGenerator<T> {
    const source = this.#source;
    const lines = readLines(source.stream(), (bytes) => source.hold(bytes));
    for await (const line of lines) yield await this.#parseLine<T>(line, schema);
  }

  async #parseLine<T>({ bytes, number }: BodyLine, schema: JsonSchema | undefined): Promise<T> {
    try {
      return await checked<T>(await this.#source.parse(bytes), schema);
    } catch (error) {
      if (!isApiError(error)) throw error;
      const { reason, message, causes } = error;
      throw new ApiError(reason, `line ${number}: ${message}`, { causes, cause: error });
    }
  }

  withAttributes(attributes: Attributes): ServerRequest {
    return new HttpRequest(this.#source, this.pathVariables, merged(this.attributes, attributes));
  }

  withPathVariables(variables: Variables): ServerRequest {
    return new HttpRequest(this.#source, merged(this.pathVariables, variables), this.attributes);
  }
}

Object.freeze(HttpRequest.prototype);

function merged<T>(
  known: Readonly<Record<string, T>>,
  added: Readonly<Record<string, T>>,
): Readonly<Record<string, T>> {
  return Object.freeze(Object.assign(bareRecord<T>(), known, added));
}

async function checked<T>(value: unknown, schema: JsonSchema | undefined): Promise<T> {
  if (schema !== undefined) await bodyCheck(schema)(value);
  return value as T;
}

function notJson(): ApiError {
  return new ApiError(
    'UnsupportedMediaType',
    'the body of the request was in an unknown format - accepted media types include: application/json',
  );
}
