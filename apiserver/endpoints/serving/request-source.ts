import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '@homeostat/controller-runtime/api';
import type { BodyCodec } from '../../decode/body-codec.ts';
import { discardRest, readBody } from '../../decode/read-body.ts';
import type { RequestUser } from '../routes/server-request.ts';
import { bareRecord } from '../../base/bare-record.ts';

export interface RequestSourceParts {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  /** The path without the query. */
  readonly path: string;
  /** The query without the question mark. */
  readonly queryString: string;
  readonly bodies: BodyCodec;
  /** Returns the user. It is called when the plugin's code first reads the user. */
  readonly user: () => RequestUser;
}

/**
 * One request on its connection. All immutable requests that are derived from one another share one source. Its user,
 * query, headers and signal are created when they are first read.
 */
export class RequestSource {
  readonly incoming: IncomingMessage;
  readonly path: string;
  readonly #userOf: () => RequestUser;
  readonly #outgoing: ServerResponse;
  readonly #bodies: BodyCodec;
  readonly #queryString: string;
  #user: RequestUser | undefined;
  #query: URLSearchParams | undefined;
  #headers: Readonly<Record<string, string>> | undefined;
  #abort: AbortController | undefined;
  #aborted: Error | undefined;
  #bytes: Promise<Buffer> | undefined;
  #streamed = false;

  constructor({ incoming, outgoing, path, queryString, bodies, user }: RequestSourceParts) {
    this.incoming = incoming;
    this.#userOf = user;
    this.path = path;
    this.#outgoing = outgoing;
    this.#queryString = queryString;
    this.#bodies = bodies;
  }

  get user(): RequestUser {
    return (this.#user ??= this.#userOf());
  }

  get query(): URLSearchParams {
    return (this.#query ??= new URLSearchParams(this.#queryString));
  }

  get headers(): Readonly<Record<string, string>> {
    return (this.#headers ??= frozenHeaders(this.incoming));
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.#aborted !== undefined) this.#abort.abort(this.#aborted);
    }
    return this.#abort.signal;
  }

  /**
   * Aborts the signal of the request, even if the signal is created later. If `abort` is called again, the first reason
   * remains.
   */
  abort(reason: Error): void {
    this.#aborted ??= reason;
    this.#abort?.abort(reason);
  }

  header(name: string): string | undefined {
    const value: unknown = this.incoming.headers[name];
    if (typeof value === 'string') return value;
    return Array.isArray(value) ? value.join(', ') : undefined;
  }

  /** Returns the whole body, which is read once and then kept. */
  bytes(): Promise<Buffer> {
    if (this.#streamed) throw new TypeError('the body is being read as a stream');
    return (this.#bytes ??= readBody({ req: this.incoming, res: this.#outgoing }, this.#bodies.memory));
  }

  /** Parses a JSON text of this request. A worker thread parses a large text. @throws as {@link BodyCodec.decode} */
  async parse(json: Buffer): Promise<unknown> {
    const source = await this.#bodies.decode(json, 'json', this.#outgoing);
    return source();
  }

  /**
   * Counts the bytes of a body that are in memory while the body is read piece by piece. @throws ApiError 503 when
   * memory is full
   */
  hold(bytes: number): void {
    this.#bodies.memory.hold(this.incoming, bytes);
  }

  /** Returns the body as it arrives. @throws TypeError after an earlier call of `stream` or `bytes`. */
  stream(): AsyncIterable<Buffer> {
    if (this.#bytes !== undefined || this.#streamed) throw new TypeError('the body was read already');
    const encoding = this.header('content-encoding') ?? 'identity';
    if (encoding.toLowerCase() !== 'identity') {
      throw new ApiError('UnsupportedMediaType', 'a body that is read as a stream must have no Content-Encoding');
    }
    this.#streamed = true;
    const { incoming } = this;
    this.#outgoing.once('finish', () => {
      if (incoming.complete) return;
      incoming.removeAllListeners('readable');
      discardRest(incoming);
    });
    // If a reader leaves the loop early, the connection must remain open, because the response still has to be sent.
    return incoming.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  }
}

function frozenHeaders({ headers }: IncomingMessage): Readonly<Record<string, string>> {
  const copy = bareRecord<string>();
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) copy[name] = typeof value === 'string' ? value : value.join(', ');
  }
  return Object.freeze(copy);
}
